//! Ways that depend on how loaded the links are.

use super::{Flow, Load, RoutingInfo};
use crate::ids::DirectionId;
use sluice_units::finish;

pub(super) const ADAPTIVE: RoutingInfo = RoutingInfo {
    name: "adaptive",
    is_adaptive: true,
    meaning: "the link with the shortest wait; among equals each packet another, in turn",
    choose: shortest,
};

pub(super) const TWO: RoutingInfo = RoutingInfo {
    name: "two-choices",
    is_adaptive: true,
    meaning: "the shorter wait of two links drawn for each packet",
    choose: shorter_of_two,
};

fn shortest(ways: &[DirectionId], flow: Flow, load: Load<'_>) -> DirectionId {
    let start = (flow.turn % ways.len() as u64) as usize;
    let (before, from) = ways.split_at(start);
    let turned = from.iter().chain(before).copied();
    let shortest = turned.min_by_key(|way| load.backlog(*way));
    shortest.expect("there are at least two ways")
}

fn shorter_of_two(ways: &[DirectionId], flow: Flow, load: Load<'_>) -> DirectionId {
    let (draw, count) = (finish(flow.sequence), ways.len() as u64);
    let first = draw % count;
    let second = (first + 1 + (draw >> 32) % (count - 1)) % count;
    let [first, second] = [first, second].map(|way| ways[way as usize]);
    if load.backlog(second) < load.backlog(first) {
        second
    } else {
        first
    }
}
