//! userfaultfd, memfd, pagemap and process_madvise: the only place that calls them.
