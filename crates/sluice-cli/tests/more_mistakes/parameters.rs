//! Parameters that are given as options.

/// A command line, and the whole error.
pub const MISTAKES: &[(&str, &str)] = &[
    (
        "run --cache-size 4MiB -- true",
        "unexpected argument '--cache-size' found; did you mean `--set cache.capacity=VALUE`? see \
         `sluice run --help`",
    ),
    (
        "run --policy lru -- true",
        "unexpected argument '--policy' found; did you mean `--set KEY=VALUE` with cache.policy, \
         prefetch.policy or ftl.gc_policy? see `sluice run --help`",
    ),
    (
        "size --policy lru -- true",
        "unexpected argument '--policy' found; tip: a similar argument exists: '--policies'; see \
         `sluice size --help`",
    ),
    (
        "fabric run esf --link-bandwidth 3",
        "unexpected argument '--link-bandwidth' found; did you mean `--set \
         link.bandwidth=VALUE`? see `sluice fabric run --help`",
    ),
];
