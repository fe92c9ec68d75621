//! NUMA nodes that memory can be bound to.

use std::fs;

/// Nodes that have memory, as Linux lists them.
const NODES: &str = "/sys/devices/system/node/has_memory";
/// Nodes that a mask of the kernel can name here.
pub(crate) const NODES_MAX: u32 = 1024;

/// Why memory cannot be bound to a node: what was expected instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoNode {
    /// Linux was built without them.
    #[error("a kernel that lists NUMA nodes in {NODES}")]
    NoList,
    /// There is nothing to choose.
    #[error("a host with several NUMA nodes that have memory; this one has node {0} alone")]
    OneNode(u32),
    /// It is not there, or has no memory.
    #[error("a NUMA node with memory, one of {0}")]
    Unknown(String),
}

/// Whether memory can be bound to a node of this host.
///
/// # Errors
/// [`NoNode`].
pub fn check(node: u32) -> Result<(), NoNode> {
    check_among(node, fs::read_to_string(NODES).ok().as_deref())
}

fn check_among(node: u32, listed: Option<&str>) -> Result<(), NoNode> {
    let nodes = listed.and_then(nodes).ok_or(NoNode::NoList)?;
    match nodes[..] {
        [only] => Err(NoNode::OneNode(only)),
        _ if nodes.contains(&node) && node < NODES_MAX => Ok(()),
        _ => {
            let known: Vec<String> = nodes.iter().map(u32::to_string).collect();
            Err(NoNode::Unknown(known.join(", ")))
        }
    }
}

/// The numbers of a list such as `0,2-3`.
fn nodes(listed: &str) -> Option<Vec<u32>> {
    let mut nodes = Vec::new();
    for part in listed.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        nodes.extend(first..=last);
    }
    Some(nodes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_nodes_are_read_as_the_kernel_writes_them() {
        assert_eq!(nodes("0\n"), Some(vec![0]));
        assert_eq!(nodes("0,2-4,7"), Some(vec![0, 2, 3, 4, 7]));
        assert_eq!(nodes(""), None);
        assert_eq!(nodes("0-x"), None);
    }

    #[test]
    fn a_node_is_one_of_several_with_memory() {
        assert_eq!(check_among(2, Some("0-2\n")), Ok(()));
        let refused = |node, listed| check_among(node, listed).unwrap_err().to_string();
        assert!(refused(0, Some("0\n")).ends_with("this one has node 0 alone"));
        assert!(refused(3, Some("0,2\n")).ends_with("one of 0, 2"));
        assert!(refused(0, None).contains("lists NUMA nodes"));
    }

    /// A mask of the kernel can name 1,024 nodes here.
    #[test]
    fn a_node_beyond_the_mask_is_unknown() {
        assert_eq!(check_among(NODES_MAX - 1, Some("0-2000\n")), Ok(()));
        let refused = check_among(NODES_MAX, Some("0-2000\n")).unwrap_err();
        assert!(matches!(refused, NoNode::Unknown(_)), "{refused}");
    }

    /// Every host has a node 0: alone, or among others.
    #[test]
    fn the_host_is_asked_for_its_nodes() {
        let listed = fs::read_to_string(NODES).ok();
        let nodes = listed.as_deref().and_then(nodes);
        let due = match nodes.as_deref() {
            None => Err(NoNode::NoList),
            Some([only]) => Err(NoNode::OneNode(*only)),
            Some(_) => Ok(()),
        };
        assert_eq!(check(0), due);
        assert!(check(u32::MAX).is_err());
    }
}
