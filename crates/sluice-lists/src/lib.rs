//! Doubly linked lists over numbered nodes, in two dense arrays.
#![forbid(unsafe_code)]

use sluice_units::{IndexType, Table};
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;

/// A node or list end that is not there. Links hold a node's number + 1, so that fresh zeroed
/// memory, which the operating system hands out untouched, is an empty list.
const NIL: u32 = 0;

/// Many lists, numbered by `L`, over one set of nodes, numbered by `N`. A node is in at most one
/// list at a time.
///
/// The front is where nodes are pushed: the newest; the back is the oldest.
#[derive(Clone)]
pub struct Lists<L = u32, N = u32> {
    /// Per node: [towards the front, towards the back].
    links: Vec<[u32; 2]>,
    /// Per list: [front, back].
    ends: Table<L, [u32; 2]>,
    lens: Table<L, u32>,
    nodes: PhantomData<fn(N)>,
}

const FRONT: usize = 0;
const BACK: usize = 1;

/// What a link to a node holds.
#[inline]
fn link_to(node: impl IndexType) -> u32 {
    node.number() + 1
}

/// The node that a link leads to.
#[inline]
fn node_of<N: IndexType>(link: u32) -> Option<N> {
    link.checked_sub(1).map(N::new)
}

impl<L: IndexType, N: IndexType> Lists<L, N> {
    /// Makes empty lists.
    pub fn new(lists: u32, nodes: u32) -> Lists<L, N> {
        Lists {
            links: vec![[NIL; 2]; nodes as usize],
            ends: Table::filled(lists, [NIL; 2]),
            lens: Table::filled(lists, 0),
            nodes: PhantomData,
        }
    }

    /// More empty lists, up to `lists` of them. Never fewer.
    pub fn grow(&mut self, lists: u32) {
        self.ends.grow(lists, [NIL; 2]);
        self.lens.grow(lists, 0);
    }

    /// All that they consist of, in tables that are zeros as long as nothing is in a list.
    pub fn parts(&mut self) -> [&mut [u32]; 3] {
        let ends = self.ends.values_mut().as_flattened_mut();
        [self.links.as_flattened_mut(), ends, self.lens.values_mut()]
    }

    /// How many nodes a list has.
    #[inline]
    pub fn len(&self, list: L) -> u32 {
        self.lens[list]
    }

    /// The newest node.
    #[inline]
    pub fn front(&self, list: L) -> Option<N> {
        node_of(self.ends[list][FRONT])
    }

    /// The oldest node.
    #[inline]
    pub fn back(&self, list: L) -> Option<N> {
        node_of(self.ends[list][BACK])
    }

    /// The neighbour on the front's side.
    #[inline]
    pub fn newer(&self, node: N) -> Option<N> {
        node_of(self.links[node.index()][FRONT])
    }

    /// The neighbour on the back's side.
    #[inline]
    pub fn older(&self, node: N) -> Option<N> {
        node_of(self.links[node.index()][BACK])
    }

    /// Puts a node that is in no list at the front of `list`.
    pub fn push_front(&mut self, list: L, node: N) {
        self.link_front(list, node);
        self.lens[list] += 1;
    }

    #[inline]
    fn link_front(&mut self, list: L, node: N) {
        let ends = &mut self.ends[list];
        let old = std::mem::replace(&mut ends[FRONT], link_to(node));
        match node_of::<N>(old) {
            None => ends[BACK] = link_to(node),
            Some(old) => self.links[old.index()][FRONT] = link_to(node),
        }
        self.links[node.index()] = [NIL, old];
    }

    /// Puts a node that is in no list at the back of `list`.
    pub fn push_back(&mut self, list: L, node: N) {
        match self.back(list) {
            None => self.push_front(list, node),
            Some(back) => {
                self.links[back.index()][BACK] = link_to(node);
                self.links[node.index()] = [link_to(back), NIL];
                self.ends[list][BACK] = link_to(node);
                self.lens[list] += 1;
            }
        }
    }

    /// Puts `new`, which is in no list, in front of a node of `list`.
    pub fn push_before(&mut self, list: L, node: N, new: N) {
        match self.newer(node) {
            None => self.push_front(list, new),
            Some(newer) => {
                self.links[newer.index()][BACK] = link_to(new);
                self.links[new.index()] = [link_to(newer), link_to(node)];
                self.links[node.index()][FRONT] = link_to(new);
                self.lens[list] += 1;
            }
        }
    }

    /// Takes a node out of `list`, which it is in.
    pub fn remove(&mut self, list: L, node: N) {
        self.unlink(list, node);
        self.lens[list] -= 1;
    }

    #[inline]
    fn unlink(&mut self, list: L, node: N) {
        let [newer, older] = self.links[node.index()];
        self.join(list, (newer, older), (older, newer));
    }

    /// Puts a node that is in no list where another one was, which leaves `list`.
    pub fn replace(&mut self, list: L, node: N, new: N) {
        let [newer, older] = self.links[node.index()];
        self.join(list, (newer, older), (link_to(new), link_to(new)));
        self.links[new.index()] = [newer, older];
    }

    /// Links the neighbours of a gap, or the ends of the list where there is none: the newer one
    /// to `links.0`, and the older one to `links.1`.
    #[inline]
    fn join(&mut self, list: L, (newer, older): (u32, u32), links: (u32, u32)) {
        let ends = &mut self.ends[list];
        match node_of::<N>(newer) {
            None => ends[FRONT] = links.0,
            Some(newer) => self.links[newer.index()][BACK] = links.0,
        }
        match node_of::<N>(older) {
            None => ends[BACK] = links.1,
            Some(older) => self.links[older.index()][FRONT] = links.1,
        }
    }

    /// Makes a node of `list` its front.
    pub fn move_to_front(&mut self, list: L, node: N) {
        if self.ends[list][FRONT] != link_to(node) {
            self.unlink(list, node);
            self.link_front(list, node);
        }
    }

    /// Takes the oldest node out of `list`.
    pub fn pop_back(&mut self, list: L) -> Option<N> {
        let node = self.back(list)?;
        self.remove(list, node);
        Some(node)
    }

    /// The oldest node of `list` for which `wanted` holds.
    pub fn oldest(&self, list: L, mut wanted: impl FnMut(N) -> bool) -> Option<N> {
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
    pub fn iter(&self, list: L) -> impl Iterator<Item = N> {
        std::iter::successors(self.front(list), |node| self.older(*node))
    }
}

/// Hashes what the lists hold. The links of a node in no list are left over and mean nothing.
impl<L: IndexType, N: IndexType> Hash for Lists<L, N> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for list in self.lens.indices() {
            self.len(list).hash(state);
            self.iter(list).for_each(|node| node.number().hash(state));
        }
    }
}
