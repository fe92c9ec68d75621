//! What newcomers mistype of traces.

/// A command line, and the whole error.
pub const MISTAKES: &[(&str, &str)] = &[
    (
        "trace info nosuch",
        "nosuch: no such file; give a trace, or make one: `sluice trace record -- PROG` or \
         `sluice trace convert`",
    ),
    (
        "trace info empty.trace",
        "empty.trace: not a Sluice trace, for it is empty; give another",
    ),
    (
        "trace info other.trace",
        "other.trace: not a Sluice trace; `sluice trace convert --from FORMAT other.trace \
         NEW.trace` makes one of it",
    ),
    (
        "trace convert x.csv out.trace --from lackey --columns time,op,address,size",
        "bad value for --from: \"lackey\"; --columns name what is in lines of csv; leave one of \
         the two out",
    ),
    (
        "trace record -o other.trace -- true",
        "other.trace: it is there already; replace it with --force",
    ),
    (
        "trace convert x.csv other.trace --columns time,op,address,size",
        "other.trace: it is there already; replace it with --force",
    ),
    (
        "trace convert heading.csv new.trace",
        "heading.csv, line 1: 4 fields; expected the 7 of MSR Cambridge (Timestamp,Hostname,\
         DiskNumber,Type,Offset,Size,ResponseTime), or others that --columns names; this heading's \
         are --columns time_us,op,address,-",
    ),
    (
        "trace convert --from lackey - new.trace",
        "standard input: no access is in it; nothing was written",
    ),
    (
        "trace record -o full -- true",
        "full: it is a folder; name a file in it",
    ),
    (
        "trace record -o nosuch/x.trace -- true",
        "nosuch/x.trace: there is no folder nosuch; make it first",
    ),
];
