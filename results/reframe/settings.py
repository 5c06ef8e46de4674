"""The least that ReFrame needs to run the tests on this machine with mpirun. A cluster has more: its scheduler, partitions,
modules; see ReFrame's manual, "Configuring ReFrame for your site"."""

site_configuration = {
    "systems": [{
        "name": "here",
        "descr": "this machine",
        "hostnames": [".*"],
        "partitions": [{"name": "default", "scheduler": "local", "launcher": "mpirun", "environs": ["builtin"]}],
    }],
    "environments": [{"name": "builtin"}],
}
