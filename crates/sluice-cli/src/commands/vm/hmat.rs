//! What the firmware says of the guest's memories (ACPI's HMAT): by it a kernel that tiers memory
//! knows that the device is slower, and demotes to it.

use sluice_model::{DeviceConfig, Op};
use sluice_units::Ps;

/// Times of a memory, as its users see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Speed {
    /// Of a load.
    pub read: Ps,
    /// Of a store.
    pub write: Ps,
    /// MB/s (10^6 bytes).
    pub bandwidth: u64,
}

/// The guest's memory besides the device: 95 ns (Cylon Figure 2, local), and the bandwidth of four
/// channels of DDR4-3200, which is assumed.
const LOCAL: Speed = Speed {
    read: Ps::from_ns(95),
    write: Ps::from_ns(95),
    bandwidth: 102_400,
};

impl Speed {
    /// Of the device's hits. A link without a bound is as wide as the memory beside it.
    pub fn of(config: &DeviceConfig) -> Speed {
        Speed {
            read: config.hit_time(Op::Read),
            write: config.hit_time(Op::Write),
            bandwidth: config.link_bandwidth.unwrap_or(LOCAL.bandwidth),
        }
    }
}

/// The most that an entry of the table has room for: 16 bits, of which one value means more.
const ENTRY_MAX: u64 = 65_534;

/// Values of QEMU's `-numa` for node 0 with its CPUs, and the devices as nodes from 1 on.
pub fn values(devices: impl IntoIterator<Item = Speed>) -> Vec<String> {
    let memories: Vec<Speed> = std::iter::once(LOCAL).chain(devices).collect();
    // QEMU takes whole MiB a second; all entries of the table count in one unit.
    let mebibytes = memories.iter();
    let mebibytes = mebibytes.map(|of| (of.bandwidth * 1_000_000).div_ceil(1 << 20));
    let most = mebibytes.clone().max().unwrap_or(1);
    let unit = most.div_ceil(ENTRY_MAX).next_power_of_two();
    // QEMU takes whole nanoseconds, and finds the greatest power of ten that all are multiples of.
    let ns = |time: Ps| time.as_ns().max(1);
    let times = memories.iter().flat_map(|of| [of.read, of.write]);
    let (slowest, mut step) = (times.map(ns).max().unwrap_or(1), 1);
    while slowest.div_ceil(step) > ENTRY_MAX {
        step *= 10;
    }
    let ns = |time: Ps| ns(time).div_ceil(step) * step;
    let of = |(node, (speed, bandwidth)): (usize, (&Speed, u64))| {
        let about = format!("hmat-lb,initiator=0,target={node},hierarchy=memory,data-type");
        let bandwidth = bandwidth.next_multiple_of(unit);
        [
            format!("{about}=read-latency,latency={}", ns(speed.read)),
            format!("{about}=write-latency,latency={}", ns(speed.write)),
            format!("{about}=read-bandwidth,bandwidth={bandwidth}M"),
            format!("{about}=write-bandwidth,bandwidth={bandwidth}M"),
        ]
    };
    let each = memories.iter().zip(mebibytes).enumerate();
    each.flat_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_memory_has_its_latencies_and_bandwidths_in_qemus_units() {
        let device = Speed {
            read: Ps(600_400),
            write: Ps(200),
            bandwidth: 25_000,
        };
        let values = values([device]);
        let of = |node: u32| {
            let target = format!(",target={node},");
            let of_node = values.iter().filter(move |value| value.contains(&target));
            let ends = of_node.filter_map(|value| value.rsplit_once("data-type="));
            ends.map(|(_, end)| end).collect::<Vec<_>>()
        };
        // 25,000 MB/s are 23,841.9 MiB/s, and the unit is two.
        assert_eq!(
            of(1),
            [
                "read-latency,latency=600",
                "write-latency,latency=1",
                "read-bandwidth,bandwidth=23842M",
                "write-bandwidth,bandwidth=23842M"
            ]
        );
        assert_eq!(
            of(0)[..2],
            ["read-latency,latency=95", "write-latency,latency=95"]
        );
        assert_eq!(values.len(), 8);
    }

    /// QEMU divides all latencies of a table by the greatest power of ten that they are multiples
    /// of, and takes no entry above 65,534. One of 65,535 ns and more ended in its own error.
    #[test]
    fn all_latencies_fit_the_table() {
        for device_ns in [1, 150, 65_534, 65_535, 70_001, 655_341, 1_000_000_000] {
            let values = values([Speed {
                read: Ps::from_ns(device_ns),
                write: Ps::from_ns(device_ns / 2 + 1),
                bandwidth: 16_000,
            }]);
            let numbers: Vec<u64> = values
                .iter()
                .filter_map(|value| value.rsplit_once("latency,latency="))
                .map(|(_, number)| number.parse().expect("a number"))
                .collect();
            assert_eq!(numbers.len(), 4);
            let is_fit = |step: u64| {
                let entries = |n: &u64| n.is_multiple_of(step) && n / step <= ENTRY_MAX;
                numbers.iter().all(entries)
            };
            let step = (0..12)
                .map(|power| 10u64.pow(power))
                .find(|step| is_fit(*step));
            let step = step.unwrap_or_else(|| panic!("{numbers:?}"));
            assert!(
                step == 1 || device_ns > ENTRY_MAX * (step / 10),
                "{numbers:?}"
            );
            assert!(
                (device_ns..device_ns + step).contains(&numbers[2]),
                "{numbers:?}"
            );
            assert!((95..95 + step).contains(&numbers[0]), "{numbers:?}");
        }
    }

    #[test]
    fn all_bandwidths_fit_the_table() {
        for bandwidth in [1, 16_000, 102_400, 1_000_000, 64_000_000] {
            let (read, write) = (Ps::from_ns(150), Ps::from_ns(150));
            let values = values([Speed {
                read,
                write,
                bandwidth,
            }]);
            let numbers: Vec<u64> = values
                .iter()
                .filter_map(|value| value.rsplit_once("bandwidth=")?.1.strip_suffix('M'))
                .map(|number| number.parse().expect("a number"))
                .collect();
            let unit = numbers
                .iter()
                .map(|n| n.trailing_zeros())
                .min()
                .expect("four");
            assert!(
                numbers.iter().all(|n| n >> unit <= ENTRY_MAX),
                "{numbers:?}"
            );
            let asked = (bandwidth * 1_000_000) as f64 / f64::from(1 << 20);
            let most = asked.max(97_657.0) / 32_767.0 + 1.0;
            let given = numbers[2] as f64;
            assert!(
                (asked..asked + most).contains(&given),
                "{bandwidth}: {numbers:?}"
            );
        }
    }
}
