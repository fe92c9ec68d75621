//! What can be wrong with a fabric. Each message is one line and names the element.

use sluice_model::DeviceError;
use sluice_params::ConfigError;
use sluice_units::ClockEnd;

/// Why a fabric cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FabricError {
    /// A parameter has a value that it cannot have.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The device of an endpoint cannot be made.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// A parameter of a group of nodes or of a link.
    #[error("{element}: {source}")]
    Element {
        /// The group or the link.
        element: String,
        /// What is wrong with it.
        source: ConfigError,
    },
    /// Two nodes of one name.
    #[error("two nodes are called `{name}`: give each group of nodes a name of its own")]
    SameName {
        /// The name that two have.
        name: String,
    },
    /// A link or a route names what there is not.
    #[error("{element}: there is no {what} `{name}`; there are {valid}")]
    Unknown {
        /// The link or the route.
        element: String,
        /// What was looked for.
        what: &'static str,
        /// The name as given.
        name: String,
        /// What would be accepted.
        valid: String,
    },
    /// Two links in one port.
    #[error("port {port} of `{switch}` is used twice: by {first} and by {second}")]
    PortTwice {
        /// The name of the switch.
        switch: String,
        /// The port that both have.
        port: u32,
        /// The link that has it.
        first: String,
        /// The link that wants it.
        second: String,
    },
    /// More links than ports.
    #[error(
        "`{switch}` has {ports} ports, but {link} needs port {port}; raise switch.ports, \
         or `ports` of its group"
    )]
    NoPort {
        /// The name of the switch.
        switch: String,
        /// How many it has.
        ports: u32,
        /// The link that is one too many.
        link: String,
        /// The port that it would need.
        port: u32,
    },
    /// A link that joins a node with itself, or two nodes that cannot be joined.
    #[error("{link}: {why}")]
    BadLink {
        /// The name of the link.
        link: String,
        /// What is wrong with its ends.
        why: &'static str,
    },
    /// Too many requesters and endpoints for 12 bits.
    #[error("{count} requesters and endpoints, but port ids have 12 bits: 4096 at most")]
    TooManyEdgePorts {
        /// How many there are.
        count: usize,
    },
    /// No way between two nodes.
    #[error("`{from}` cannot reach `{to}`: no chain of links and switches joins them")]
    Disconnected {
        /// Where the way would begin.
        from: String,
        /// Where it would end.
        to: String,
    },
    /// Packets would go round and round.
    #[error("routing loop: packets for `{to}` go {path}; change one of the routes")]
    Loop {
        /// The name of the destination.
        to: String,
        /// The switches, the first one again at the end.
        path: String,
    },
    /// A memory model that cannot be used.
    #[error("`{endpoint}`: library {path:?}: {why}")]
    Library {
        /// The name of the endpoint.
        endpoint: String,
        /// The shared object.
        path: String,
        /// What is wrong with it.
        why: String,
    },
    /// An endpoint of type `external` without a memory model.
    #[error("`{endpoint}` is of type external and has no model; give library = \"./model.so\"")]
    NoLibrary {
        /// The name of the endpoint.
        endpoint: String,
    },
    /// Addresses that cannot be.
    #[error("hdm: {message}")]
    Addresses {
        /// What is wrong, with the names that are concerned.
        message: String,
    },
    /// A virtual hierarchy that cannot be.
    #[error("vcs `{vcs}`: {message}")]
    Hierarchy {
        /// The virtual switch.
        vcs: String,
        /// What is wrong, with the names that are concerned.
        message: String,
    },
    /// A topology that the numbers do not make.
    #[error("topology `{kind}`: {message}")]
    Topology {
        /// The topology's name.
        kind: &'static str,
        /// What it cannot be built from.
        message: String,
    },
}

/// Packets wait for each other, or for a memory from outside, and nothing else will happen.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "deadlock after {at} ps: {packets} packets wait for credits ({links}), {elsewhere} for \
     these or for a memory; {}",
    way_out(*refused)
)]
pub struct Deadlock {
    /// When the last event was.
    pub at: u64,
    /// Packets that wait for a credit.
    pub packets: usize,
    /// The directions of links for which they wait.
    pub links: String,
    /// Packets that are somewhere else.
    pub elsewhere: usize,
    /// Answers of memories from outside that could not be.
    pub refused: u64,
}

fn way_out(refused: u64) -> String {
    match refused {
        0 => "give link.credits more, or another routing".to_owned(),
        refused => format!(
            "a memory model gave {refused} answers that are refused: it must report each request \
             within a second (sluice_memory.h)"
        ),
    }
}

/// Packets wait for each other, while others go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "deadlock of a part by {at} ps: {packets} packets wait for credits that only they hold \
     ({links}); give link.credits more, or another routing"
)]
pub struct Stuck {
    /// When that was found.
    pub at: u64,
    /// Packets that wait for a credit.
    pub packets: usize,
    /// The directions of links for which they wait.
    pub links: String,
}

/// Why a fabric stopped by itself.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Standstill {
    /// Packets wait for each other.
    #[error(transparent)]
    Deadlock(#[from] Deadlock),
    /// Packets wait for each other, and the others went on to the end.
    #[error(transparent)]
    Stuck(#[from] Stuck),
    /// It came to the end of its clock.
    #[error(transparent)]
    ClockEnd(#[from] ClockEnd),
    /// The hosts go on, and ask for nothing.
    #[error(
        "no request comes any more: {completed} came back, and since then the hosts have retired \
         {instructions} instructions from their caches; give them a larger workload or smaller \
         caches, or fewer --requests"
    )]
    Silence {
        /// Requests that have come back, with those of the warm-up.
        completed: u64,
        /// Instructions that all hosts together have retired since the last request, and more.
        instructions: u64,
    },
}

/// Counters of a fabric that contradict each other: a mistake of the simulator's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Imbalance {
    /// Requests were lost, or came back twice.
    #[error("{issued} requests issued, {completed} came back, {under_way} under way")]
    Requests {
        /// Issued since the start.
        issued: u64,
        /// Came back since the start.
        completed: u64,
        /// Requests that are still under way.
        under_way: u64,
    },
    /// The requesters count otherwise than the fabric.
    #[error("the requesters issued {by_requester} of {issued} requests")]
    Requesters {
        /// The sum of their counts.
        by_requester: u64,
        /// The fabric's count.
        issued: u64,
    },
    /// Packets were lost on a link, or came out of nothing.
    #[error("{link}: {sent} packets sent, {received} received, {on_link} on the link")]
    Link {
        /// The name of the link, with its direction.
        link: String,
        /// Sent since the start.
        sent: u64,
        /// Received since the start.
        received: u64,
        /// Packets that are still on the link.
        on_link: u64,
    },
    /// Time was counted twice, or not at all.
    #[error("the parts of the latencies are not their sum")]
    Parts,
}
