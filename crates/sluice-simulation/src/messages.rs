//! A host with its device on a link of messages: a fabric of one requester and one endpoint.

use sluice_host::{Host, HostConfig, HostStats, Messages, Program, RunLength};
use sluice_model::{Device, Stats};
use sluice_net::{
    EndpointId, Fabric, FabricConfig, FabricSpec, Group, HostGroup, Hosts, LinkSpec, RequesterId,
    Standstill,
};
use sluice_units::Ps;

/// The only ones.
const DEVICE: EndpointId = EndpointId(0);
const HOST: RequesterId = RequesterId(0);

/// Events between two calls of the caller's watch.
const WATCH_EVERY: u64 = 1 << 14;

/// Runs a program as [`sluice_host::simulate`] does, on a host whose link has messages.
pub(crate) fn simulate(
    config: &HostConfig,
    messages: &Messages,
    device: Device,
    program: &mut dyn Program,
    length: RunLength,
    watch: &mut dyn FnMut(u64) -> bool,
) -> (HostStats, Device) {
    let spec = direct(messages, &device);
    let fabric = FabricConfig::new(&spec, config.seed).expect("a link between two nodes");
    let mut fabric = Fabric::new(&fabric).expect("no device to make");
    let mut host = Host::with_port(config, program);
    let (device, ahead) = host.fill_device(device);
    fabric.put_device(DEVICE, device, ahead);
    let mut hosts = Hosts::new(fabric);
    hosts.seat(HOST, 0, host);
    let mut run = Run {
        hosts,
        watch,
        at_marks: Vec::new(),
        clock_ended: false,
    };
    run.until(length.warmup, Ps::ZERO);
    let began = run.stats();
    run.host().tell_programs(began.flash_programs);
    run.host().reset();
    run.at_marks.clear();
    let end = length.end(run.host().retired());
    run.until(end, length.sample_every);
    let mut stats = run.host().finish();
    stats.device = run.stats().since(&began);
    for ((_, of_mark), at_mark) in stats.marks.iter_mut().zip(&run.at_marks) {
        of_mark.device = at_mark.since(&began);
    }
    // What comes after the clock's end is not begun, so that neither side is past it.
    let least = if run.clock_ended { Ps::MAX } else { Ps::ZERO };
    let mut fabric = run.hosts.into_fabric();
    stats.until = stats.until.max(fabric.now()).max(least);
    // Counters that contradict each other are a bug of ours, not of the input.
    fabric.balance().expect("the link's books balance");
    (stats, fabric.take_device(DEVICE).expect("it was put there"))
}

/// A fabric of a host, a device and the link between them, which adds nothing but what messages
/// take: what the device's ends of it take is `device.protocol_latency`.
fn direct(messages: &Messages, device: &Device) -> FabricSpec {
    let mut spec = FabricSpec::default();
    let bandwidth = messages.bandwidth.to_string();
    let capacity = device.config().capacity().to_string();
    for (key, value) in [
        ("topology.kind", "list"),
        ("requester.count", "1"),
        ("endpoint.count", "1"),
        ("endpoint.type", "external"),
        ("endpoint.capacity", &capacity),
        ("endpoint.controller", "0ns"),
        ("link.bandwidth", &bandwidth),
        ("link.latency", "0ns"),
        ("link.port_latency", "0ns"),
        ("packet.flits", messages.flits.name()),
    ] {
        spec.set(key, value).expect("a setting of a fabric");
    }
    let group = |name: &str| Group {
        name: name.to_owned(),
        ..Group::default()
    };
    spec.requesters = vec![Group {
        host: Some(HostGroup::default()),
        ..group("host")
    }];
    spec.endpoints = vec![group("device")];
    spec.links = vec![LinkSpec {
        ends: ["host".to_owned(), "device".to_owned()],
        set: Vec::new(),
    }];
    spec
}

struct Run<'a, 'w> {
    hosts: Hosts<'a>,
    watch: &'w mut dyn FnMut(u64) -> bool,
    /// The device's counters at each mark that the host has passed.
    at_marks: Vec<Stats>,
    /// Whether something was due after [`Ps::LAST`].
    clock_ended: bool,
}

impl<'a> Run<'a, '_> {
    fn host(&mut self) -> &mut Host<'a> {
        self.hosts.hosts_mut().next().expect("one host")
    }

    fn stats(&self) -> Stats {
        *self.hosts.device(DEVICE).expect("it was put there").stats()
    }

    /// Until so many instructions have retired, or the program has ended.
    fn until(&mut self, end: u64, sample_every: Ps) {
        let mut count = 0u64;
        while self.host().retired() < end {
            let goes_on = match self.hosts.step(&mut |_| ()) {
                Err(Standstill::ClockEnd(_)) => {
                    self.clock_ended = true;
                    false
                }
                goes_on => goes_on.expect("a link without credits"),
            };
            if !goes_on {
                break;
            }
            while self.at_marks.len() < self.host().marks_passed() {
                self.at_marks.push(self.stats());
            }
            if sample_every > Ps::ZERO {
                let programs = self.stats().flash_programs;
                let host = self.host();
                host.tell_programs(programs);
                host.sample(sample_every);
            }
            count += 1;
            if count.is_multiple_of(WATCH_EVERY) {
                let retired = self.host().retired();
                if !(self.watch)(retired) {
                    break;
                }
            }
        }
    }
}
