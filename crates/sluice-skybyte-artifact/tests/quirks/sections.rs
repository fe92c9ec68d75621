//! Sections of the artifact's traces, with far more threads than there is work.

use sluice_kernels::KernelOptions;
use sluice_kernels::drive::{options, run};
use sluice_params::RawConfig;
use sluice_skybyte_artifact::KERNELS;

/// Threads without work were at their barrier for ever, or divided by their share of nothing.
#[test]
fn threads_beyond_all_work_come_to_their_end() {
    for (name, key, value) in [
        ("bfs-dense", "section", "early"),
        ("bc", "section", "forward"),
        ("radix", "section", "generation"),
        ("srad", "section", "passes"),
        ("tpcc", "threads", "dealt"),
    ] {
        let info = KERNELS.iter().find(|info| info.name == name);
        let info = info.expect("a kernel of that name");
        let mut given = RawConfig::of(info.params);
        given.set(key, value).expect("a section");
        for (threads, scale) in [(128, 65_536), (4_096, 65_536)] {
            let mut kernel = (info.make)(&KernelOptions {
                given: given.clone(),
                ..options(threads, scale, 2)
            });
            run(kernel.as_mut(), 1);
            let told = (kernel.rounds(), kernel.check());
            assert_eq!(told, (2, Ok(())), "{name}: {threads} at {scale}");
        }
    }
}
