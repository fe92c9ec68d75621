//! The state of every block: free, open, or closed with a number of stale pages.

use crate::layout::Layout;
use crate::lists::Lists;

/// Blocks by state. A closed block without stale pages is in no list: it is nobody's victim.
pub(super) struct Blocks {
    layout: Layout,
    /// Per block: programmed pages that hold no valid data.
    stale: Vec<u32>,
    state: Vec<State>,
    /// Per die: a list of victims for each count of stale pages, then a list of free blocks.
    lists: Lists,
    dies: Vec<Die>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Closed,
    Open,
    Free,
}

struct Die {
    host: Open,
    /// Where garbage collection writes; full until it is first needed.
    gc: Open,
    valid: u32,
    /// No victim has more stale pages than this.
    stale_max: u32,
}

/// A block being written, and its next page. `next == pages_per_block` is full.
#[derive(Clone, Copy)]
struct Open {
    block: u32,
    next: u32,
}

impl Blocks {
    pub fn new(layout: &Layout) -> Blocks {
        let count = layout.blocks() as usize;
        let lists = layout.plane_count() as usize * (layout.pages_per_block as usize + 2);
        let mut blocks = Blocks {
            layout: *layout,
            stale: vec![0; count],
            state: vec![State::Closed; count],
            lists: Lists::new(lists, count),
            dies: Vec::with_capacity(layout.plane_count() as usize),
        };
        (0..layout.plane_count()).for_each(|die| blocks.add_die(die));
        blocks
    }

    /// Lays out a die: its home pages written, its partly written block open, the rest free.
    fn add_die(&mut self, die: u32) {
        let per_block = self.layout.pages_per_block;
        let written = if self.layout.preconditioned {
            self.layout.home_pages(die)
        } else {
            0
        };
        let first = die * self.layout.blocks_per_plane;
        let open = first + written / per_block;
        self.state[open as usize] = State::Open;
        for block in open + 1..first + self.layout.blocks_per_plane {
            self.state[block as usize] = State::Free;
            self.lists.push_front(self.free_list(die), block);
        }
        self.dies.push(Die {
            host: Open {
                block: open,
                next: written % per_block,
            },
            gc: Open {
                block: open,
                next: per_block,
            },
            valid: written,
            stale_max: 0,
        });
    }

    fn free_list(&self, die: u32) -> u32 {
        die * (self.layout.pages_per_block + 2) + self.layout.pages_per_block + 1
    }

    fn victim_list(&self, die: u32, stale: u32) -> u32 {
        die * (self.layout.pages_per_block + 2) + stale
    }

    /// Whether the die may take another valid page from the host.
    pub fn has_room(&self, die: u32) -> bool {
        self.dies[die as usize].valid < self.layout.valid_max
    }

    /// Whether the die has to collect garbage before it opens a block.
    pub fn is_short(&self, die: u32) -> bool {
        self.lists.len(self.free_list(die)) <= self.layout.gc_threshold
    }

    pub fn host_is_full(&self, die: u32) -> bool {
        self.dies[die as usize].host.next == self.layout.pages_per_block
    }

    /// Takes the next page for a host write, which makes it valid.
    pub fn append_host(&mut self, die: u32) -> u32 {
        let open = self.advance(die, self.dies[die as usize].host);
        self.dies[die as usize].host = open;
        self.dies[die as usize].valid += 1;
        self.ppn_before(open)
    }

    /// Takes the next page for a moved one: the number of valid pages stays.
    pub fn append_gc(&mut self, die: u32) -> u32 {
        let open = self.advance(die, self.dies[die as usize].gc);
        self.dies[die as usize].gc = open;
        self.ppn_before(open)
    }

    fn ppn_before(&self, open: Open) -> u32 {
        open.block * self.layout.pages_per_block + open.next - 1
    }

    /// Steps over one page, into a new block if this one is full; closes a block it fills.
    fn advance(&mut self, die: u32, open: Open) -> Open {
        let mut open = open;
        if open.next == self.layout.pages_per_block {
            let block = self.lists.pop_back(self.free_list(die));
            let block = block.expect("garbage collection keeps a block free");
            self.state[block as usize] = State::Open;
            open = Open { block, next: 0 };
        }
        open.next += 1;
        if open.next == self.layout.pages_per_block {
            self.state[open.block as usize] = State::Closed;
            self.list_victim(open.block);
        }
        open
    }

    /// The data at `ppn` is no longer wanted.
    pub fn make_stale(&mut self, ppn: u32) {
        let block = self.layout.block_of(ppn);
        let die = self.layout.plane_of_block(block);
        let stale = self.stale[block as usize];
        let closed = self.state[block as usize] == State::Closed;
        if closed && stale > 0 {
            self.lists.remove(self.victim_list(die, stale), block);
        }
        self.stale[block as usize] += 1;
        self.dies[die as usize].valid -= 1;
        if closed {
            self.list_victim(block);
        }
    }

    fn list_victim(&mut self, block: u32) {
        let stale = self.stale[block as usize];
        if stale > 0 {
            let die = self.layout.plane_of_block(block);
            self.lists.push_front(self.victim_list(die, stale), block);
            let max = &mut self.dies[die as usize].stale_max;
            *max = stale.max(*max);
        }
    }

    /// Takes the closed block with the most stale pages, the one longest so among equals.
    pub fn take_victim(&mut self, die: u32) -> Option<u32> {
        while self.dies[die as usize].stale_max > 0 {
            let list = self.victim_list(die, self.dies[die as usize].stale_max);
            if let Some(block) = self.lists.pop_back(list) {
                return Some(block);
            }
            self.dies[die as usize].stale_max -= 1;
        }
        None
    }

    /// Takes back an erased block.
    pub fn free(&mut self, block: u32) {
        self.stale[block as usize] = 0;
        self.state[block as usize] = State::Free;
        self.lists
            .push_front(self.free_list(self.layout.plane_of_block(block)), block);
    }

    /// Panics if the counts contradict the valid pages of each block. For tests.
    #[cfg(test)]
    pub fn check(&self, valid: &[u32]) {
        let per_block = self.layout.pages_per_block;
        for (index, die) in self.dies.iter().enumerate() {
            let first = index * self.layout.blocks_per_plane as usize;
            let mine = first..first + self.layout.blocks_per_plane as usize;
            assert_eq!(
                valid[mine.clone()].iter().sum::<u32>(),
                die.valid,
                "valid on die {index}"
            );
            for block in mine {
                let (valid, stale) = (valid[block], self.stale[block]);
                let programmed = match self.state[block] {
                    State::Closed => per_block,
                    State::Free => 0,
                    State::Open if block as u32 == die.host.block => die.host.next,
                    State::Open => die.gc.next,
                };
                assert_eq!(valid + stale, programmed, "pages of block {block}");
            }
        }
    }
}
