//! Doubly linked lists over numbered nodes, in two dense arrays.
#![forbid(unsafe_code)]

use std::hash::{Hash, Hasher};

/// A node or list end that is not there. Links hold node + 1, so that fresh zeroed memory,
/// which the operating system hands out untouched, is an empty list.
const NIL: u32 = 0;

/// Many lists over one set of nodes. A node is in at most one list at a time.
///
/// The front is where nodes are pushed: the newest; the back is the oldest.
#[derive(Clone)]
pub struct Lists {
    /// Per node: [towards the front, towards the back].
    links: Vec<[u32; 2]>,
    /// Per list: [front, back].
    ends: Vec<[u32; 2]>,
    lens: Vec<u32>,
}

const FRONT: usize = 0;
const BACK: usize = 1;

impl Lists {
    /// So many empty lists.
    pub fn new(lists: usize, nodes: usize) -> Lists {
        Lists {
            links: vec![[NIL; 2]; nodes],
            ends: vec![[NIL; 2]; lists],
            lens: vec![0; lists],
        }
    }

    /// More empty lists, up to `lists` of them. Never fewer.
    pub fn grow(&mut self, lists: usize) {
        if lists > self.lens.len() {
            self.ends.resize(lists, [NIL; 2]);
            self.lens.resize(lists, 0);
        }
    }

    /// Nodes in a list.
    pub fn len(&self, list: u32) -> u32 {
        self.lens[list as usize]
    }

    /// The newest node.
    pub fn front(&self, list: u32) -> Option<u32> {
        self.ends[list as usize][FRONT].checked_sub(1)
    }

    /// The oldest node.
    pub fn back(&self, list: u32) -> Option<u32> {
        self.ends[list as usize][BACK].checked_sub(1)
    }

    /// The neighbour on the front's side.
    pub fn newer(&self, node: u32) -> Option<u32> {
        self.links[node as usize][FRONT].checked_sub(1)
    }

    /// The neighbour on the back's side.
    pub fn older(&self, node: u32) -> Option<u32> {
        self.links[node as usize][BACK].checked_sub(1)
    }

    /// Puts a node that is in no list at the front of `list`.
    pub fn push_front(&mut self, list: u32, node: u32) {
        let ends = &mut self.ends[list as usize];
        let old = std::mem::replace(&mut ends[FRONT], node + 1);
        match old {
            NIL => ends[BACK] = node + 1,
            old => self.links[old as usize - 1][FRONT] = node + 1,
        }
        self.links[node as usize] = [NIL, old];
        self.lens[list as usize] += 1;
    }

    /// Puts a node that is in no list at the back of `list`.
    pub fn push_back(&mut self, list: u32, node: u32) {
        match self.back(list) {
            None => self.push_front(list, node),
            Some(back) => {
                self.links[back as usize][BACK] = node + 1;
                self.links[node as usize] = [back + 1, NIL];
                self.ends[list as usize][BACK] = node + 1;
                self.lens[list as usize] += 1;
            }
        }
    }

    /// Puts `new`, which is in no list, in front of a node of `list`.
    pub fn push_before(&mut self, list: u32, node: u32, new: u32) {
        match self.newer(node) {
            None => self.push_front(list, new),
            Some(newer) => {
                self.links[newer as usize][BACK] = new + 1;
                self.links[new as usize] = [newer + 1, node + 1];
                self.links[node as usize][FRONT] = new + 1;
                self.lens[list as usize] += 1;
            }
        }
    }

    /// Takes a node out of `list`, which it is in.
    pub fn remove(&mut self, list: u32, node: u32) {
        let [newer, older] = self.links[node as usize];
        let ends = &mut self.ends[list as usize];
        match newer {
            NIL => ends[FRONT] = older,
            newer => self.links[newer as usize - 1][BACK] = older,
        }
        match older {
            NIL => ends[BACK] = newer,
            older => self.links[older as usize - 1][FRONT] = newer,
        }
        self.lens[list as usize] -= 1;
    }

    /// Puts a node that is in no list in the place of one of `list`, which leaves it.
    pub fn replace(&mut self, list: u32, node: u32, new: u32) {
        let [newer, older] = self.links[node as usize];
        let ends = &mut self.ends[list as usize];
        match newer {
            NIL => ends[FRONT] = new + 1,
            newer => self.links[newer as usize - 1][BACK] = new + 1,
        }
        match older {
            NIL => ends[BACK] = new + 1,
            older => self.links[older as usize - 1][FRONT] = new + 1,
        }
        self.links[new as usize] = [newer, older];
    }

    /// Makes a node of `list` its front.
    pub fn move_to_front(&mut self, list: u32, node: u32) {
        if self.ends[list as usize][FRONT] != node + 1 {
            self.remove(list, node);
            self.push_front(list, node);
        }
    }

    /// Takes the oldest node out of `list`.
    pub fn pop_back(&mut self, list: u32) -> Option<u32> {
        let node = self.back(list)?;
        self.remove(list, node);
        Some(node)
    }

    /// The oldest node of `list` for which `wanted` holds.
    pub fn oldest(&self, list: u32, mut wanted: impl FnMut(u32) -> bool) -> Option<u32> {
        let mut cursor = self.back(list);
        while let Some(node) = cursor {
            if wanted(node) {
                return Some(node);
            }
            cursor = self.newer(node);
        }
        None
    }

    /// The nodes of `list`, newest first.
    pub fn iter(&self, list: u32) -> impl Iterator<Item = u32> {
        std::iter::successors(self.front(list), |node| self.older(*node))
    }
}

/// By what the lists hold; links of nodes in no list are left over and mean nothing.
impl Hash for Lists {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for list in 0..self.lens.len() as u32 {
            self.len(list).hash(state);
            self.iter(list).for_each(|node| node.hash(state));
        }
    }
}
