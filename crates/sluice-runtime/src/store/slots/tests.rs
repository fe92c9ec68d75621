use super::*;
use proptest::prelude::*;
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

const PAGES: usize = 12;

/// What is written where, for all processes, and which processes live.
#[derive(Default)]
struct World {
    /// What the slots of each file hold.
    files: HashMap<(usize, u64), u64>,
    /// Living children of a file's owner, by the number of their fork.
    readers: HashMap<usize, BTreeSet<u32>>,
    next_file: usize,
    next_value: u64,
}

/// A process: its slots, the files it knows by their place in its line, and what it must read.
struct Process {
    slots: Slots,
    line: Vec<usize>,
    /// What it holds of each parent's file.
    numbers: Vec<u32>,
    truth: [Option<u64>; PAGES],
    world: Rc<RefCell<World>>,
}

impl Process {
    fn first(world: &Rc<RefCell<World>>) -> Process {
        Process {
            slots: Slots::new(PAGES),
            line: vec![world.borrow_mut().new_file()],
            numbers: Vec::new(),
            truth: [None; PAGES],
            world: world.clone(),
        }
    }

    fn is_read(&self) -> impl Fn(u32) -> bool + use<> {
        let own = self.line[self.line.len() - 1];
        let world = self.world.clone();
        move |last| {
            let world = world.borrow();
            let readers = world.readers.get(&own);
            readers.is_some_and(|all| all.iter().any(|number| *number <= last))
        }
    }

    fn write(&mut self, page: usize) {
        let place = self.slots.renew(page, self.is_read()).expect("room");
        assert_eq!(place.file, self.line.len() - 1, "not its own file");
        let mut world = self.world.borrow_mut();
        world.next_value += 1;
        let value = world.next_value;
        world
            .files
            .insert((self.line[place.file], place.slot), value);
        self.truth[page] = Some(value);
    }

    fn forget(&mut self, page: usize) {
        self.slots.forget(page, self.is_read());
        self.truth[page] = None;
    }

    /// The child, while `window` of the parent's pages are written within the fork.
    fn fork(&mut self, window: &[usize]) -> Process {
        let number = self.slots.begin_fork();
        let own = self.line[self.line.len() - 1];
        let hold = |world: &mut World, file, number| {
            world.readers.entry(file).or_default().insert(number);
        };
        {
            let mut world = self.world.borrow_mut();
            hold(&mut world, own, number);
        }
        window.iter().for_each(|page| self.write(*page));
        let mut slots = Slots {
            has: self.slots.has.clone(),
            elsewhere: self.slots.elsewhere.clone(),
            kept: self.slots.kept.clone(),
            fresh: self.slots.fresh.clone(),
            free: Vec::with_capacity(PAGES),
            held: VecDeque::with_capacity(PAGES),
            ..self.slots
        };
        assert!(slots.go_on_in_child());
        let truth = self.truth;
        // Between the fork and its end the parent may still write.
        window.iter().for_each(|page| self.write(*page));
        self.slots.end_fork();
        let mut line = self.line.clone();
        line.push(self.world.borrow_mut().new_file());
        let numbers = self.numbers.iter().copied().chain([number]).collect();
        Process {
            slots,
            line,
            numbers,
            truth,
            world: self.world.clone(),
        }
    }

    fn check(&self) {
        let world = self.world.borrow();
        for page in 0..PAGES {
            let place = self.slots.of(page);
            let found = place.map(|at| world.files[&(self.line[at.file], at.slot)]);
            assert_eq!(found, self.truth[page], "page {page} of {:?}", self.line);
        }
    }
}

impl World {
    fn new_file(&mut self) -> usize {
        self.next_file += 1;
        self.next_file
    }
}

/// The end of a process, which lets go of its parents' files. Grandparents' too: a child has what
/// its parent has, under the same number, so the number goes with its last holder.
fn end(processes: &mut Vec<Process>, at: usize) {
    let gone = processes.swap_remove(at);
    for (file, number) in gone.line.iter().zip(&gone.numbers) {
        let is_held = |p: &Process| {
            let mut pairs = p.line.iter().zip(&p.numbers);
            pairs.any(|(f, n)| f == file && n == number)
        };
        if !processes.iter().any(is_held) {
            let mut world = gone.world.borrow_mut();
            world.readers.get_mut(file).expect("held").remove(number);
        }
    }
}

#[derive(Clone, Debug)]
enum Step {
    Write(usize, usize),
    Forget(usize, usize),
    Fork(usize, Vec<usize>),
    End(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0..6usize, 0..PAGES).prop_map(|(who, page)| Step::Write(who, page)),
        2 => (0..6usize, 0..PAGES).prop_map(|(who, page)| Step::Forget(who, page)),
        1 => (0..6usize, prop::collection::vec(0..PAGES, 0..3))
            .prop_map(|(who, window)| Step::Fork(who, window)),
        1 => (0..6usize).prop_map(Step::End),
    ]
}

proptest! {
    /// Every process reads what it wrote or had at its fork, whatever its relatives do.
    #[test]
    fn nobody_reads_what_another_process_wrote(steps in prop::collection::vec(step(), 1..200)) {
        let world = Rc::new(RefCell::new(World::default()));
        let mut all = vec![Process::first(&world)];
        for step in steps {
            let count = all.len();
            match step {
                Step::Write(who, page) => all[who % count].write(page),
                Step::Forget(who, page) => all[who % count].forget(page),
                Step::Fork(who, window) => {
                    let parent = &mut all[who % count];
                    if parent.line.len() < MAX_FILES {
                        let child = parent.fork(&window);
                        all.push(child);
                    }
                }
                Step::End(who) if count > 1 => end(&mut all, who % count),
                Step::End(_) => {}
            }
            all.iter().for_each(Process::check);
        }
    }
}

/// Without children a page stays in its slot, and a slot that is given up is used again.
#[test]
fn a_file_grows_no_longer_than_its_pages() {
    let mut slots = Slots::new(PAGES);
    for round in 0..100 {
        for page in 0..PAGES {
            let place = slots.renew(page, |_| false).expect("room");
            assert!(place.slot < PAGES as u64, "round {round}");
        }
        slots.forget(round % PAGES, |_| false);
    }
}

/// With a child that lives for ever, what is written again and again takes one slot more, once.
#[test]
fn a_page_that_a_child_may_read_moves_once() {
    let mut slots = Slots::new(PAGES);
    let first = slots.renew(3, |_| false).expect("room");
    assert_eq!(slots.begin_fork(), 1);
    slots.end_fork();
    let second = slots.renew(3, |_| true).expect("room");
    assert_ne!(first, second);
    for _ in 0..10 {
        assert_eq!(slots.renew(3, |_| true), Some(second));
    }
    // Once the child has ended, the first slot is free, and the other one for another page.
    slots.forget(3, |_| false);
    assert_eq!(slots.renew(3, |_| false), Some(first));
    assert!(slots.renew(5, |_| false).is_some());
    assert_eq!(slots.begin_fork(), 2);
    slots.end_fork();
    assert_eq!(slots.renew(5, |_| true), Some(second));
}

/// A page's place takes memory only if a fork made it another one than its home.
#[test]
fn a_page_is_in_the_slot_of_its_number_as_long_as_nobody_forks() {
    let mut slots = Slots::new(PAGES);
    for page in (0..PAGES).rev() {
        let place = slots.renew(page, |_| false).expect("room");
        assert_eq!((place.file, place.slot), (0, page as u64));
        assert_eq!(slots.of(page), Some(place));
    }
    slots.forget(7, |_| false);
    assert_eq!(slots.of(7), None);
    assert!(slots.elsewhere.iter().all(|at| *at == 0));
}
