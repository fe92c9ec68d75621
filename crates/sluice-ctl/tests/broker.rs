//! The broker against clients that it cannot trust, with a ring that only keeps what it hears.

use sluice_ctl::broker::{Access, Allow, BrokerError, Limits, Listening, Serving, ask};
use sluice_ctl::{CtlCommand, Outcome};
use std::io::{Read, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A broker in a thread of this process, and what its ring was asked.
struct Broker {
    socket: PathBuf,
    heard: Arc<Mutex<Vec<String>>>,
    _folder: tempfile::TempDir,
}

/// Long enough for a loaded host, short enough to be waited for.
fn limits() -> Limits {
    Limits {
        message: Duration::from_millis(300),
        turn: Duration::from_millis(300),
        ..Limits::default()
    }
}

fn access(mode: &str) -> Access {
    Access::new(mode, None).expect("a mode")
}

impl Broker {
    fn start(allow: Allow) -> Broker {
        Broker::with(allow, |command| format!("{command:?}"))
    }

    fn with(allow: Allow, say: impl Fn(&CtlCommand) -> String + Send + Sync + 'static) -> Broker {
        let folder = tempfile::tempdir().expect("a folder");
        let socket = folder.path().join("socket");
        let listening = Listening::new(&socket, &access("0666")).expect("a socket");
        let heard = Arc::new(Mutex::new(Vec::new()));
        let ring = heard.clone();
        let serving = Serving::new(allow, limits(), move |command| {
            ring.lock().expect("no panic").push(format!("{command:?}"));
            let text = say(command);
            let is_done = !matches!(command, CtlCommand::Cold(_));
            Ok(Outcome { text, is_done })
        });
        std::thread::spawn(move || serving.run(&listening));
        Broker {
            socket,
            heard,
            _folder: folder,
        }
    }

    /// Asks, and again while places of clients before are taken.
    fn ask(&self, words: &[&str]) -> Result<Outcome, BrokerError> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        for _ in 0..1000 {
            match ask(&self.socket, &words) {
                Err(BrokerError::Refused(why)) if is_busy(why.as_bytes()) => {}
                answer => return answer,
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("the broker is busy for ever");
    }

    /// What a command is refused with.
    fn refused(&self, words: &[&str]) -> String {
        let before = self.heard.lock().expect("no panic").len();
        let why = refusal(self.ask(words));
        assert_eq!(self.heard.lock().expect("no panic").len(), before);
        why
    }

    fn connect(&self) -> UnixStream {
        UnixStream::connect(&self.socket).expect("a broker")
    }

    /// It answers as ever.
    fn assert_well(&self) {
        let outcome = self.ask(&["stats", "--json"]).expect("allowed");
        assert!(outcome.is_done && outcome.text.contains("Stats"));
    }
}

/// What a broker says against a command.
fn refusal(answer: Result<Outcome, BrokerError>) -> String {
    match answer {
        Err(BrokerError::Refused(why)) => why,
        other => panic!("{other:?}"),
    }
}

/// Waits for the broker to end a connection, and returns what it said.
fn rest_of(mut client: UnixStream) -> Vec<u8> {
    client
        .set_read_timeout(Some(Duration::from_secs(60)))
        .expect("a limit");
    let mut said = Vec::new();
    // A connection that the broker resets has ended as well.
    match client.read_to_end(&mut said) {
        Err(why) if why.kind() == std::io::ErrorKind::WouldBlock => panic!("it goes on"),
        _ => said,
    }
}

/// Whether that is the answer to a client for which there is no place.
fn is_busy(said: &[u8]) -> bool {
    String::from_utf8_lossy(said).contains("busy: 4 clients of a user")
}

#[test]
fn what_is_allowed_is_carried_out_and_nothing_else() {
    let broker = Broker::start(Allow::default());
    for words in [
        &["stats", "--json"][..],
        &["map", "0..64KiB"],
        &["prefetch", "0..16MiB", "32MiB+4KiB"],
        &["sequential", "0..1MiB"],
        &["normal", "0..1MiB"],
    ] {
        let outcome = broker.ask(words).expect("allowed");
        assert!(outcome.is_done, "{words:?}");
        let heard = broker.heard.lock().expect("no panic");
        assert_eq!(heard.last(), Some(&outcome.text));
    }
    // What the device refuses is an outcome.
    let outcome = broker.ask(&["cold", "0..4KiB"]).expect("an answer");
    assert!(!outcome.is_done);
    for (words, why) in [
        (&["pin", "0..4KiB"][..], "does not allow pin"),
        (&["unpin", "0..4KiB"], "does not allow pin"),
        (&["evict", "all"], "does not allow evict"),
        (&["pageout", "all"], "does not allow evict"),
        (&["flush"], "does not allow flush"),
        (&["policy", "lru"], "does not allow set"),
        (&["set", "nand.read=1us"], "does not allow set"),
        (&["stats", "--as"], "unexpected argument"),
        // Root can allow the others, and not these.
        (
            &["evict", "all"],
            "root chooses by `sluice-guest serve --allow`",
        ),
        (&["powercut"], "on the host, by `sluice ctl PID powercut`"),
        (&["mark", "a"], "on the host, by `sluice ctl PID mark`"),
        (&["reset"], "on the host, by `sluice ctl PID reset`"),
        (&["prefetch", "all"], "at most 16 ranges of 64MiB together"),
        (&["prefetch", "0..40MiB", "0..40MiB"], "at most 16 ranges"),
        (
            &["prefetch", "0..0xffffffffffffffff", "0..4KiB"],
            "at most 16",
        ),
        (&["serve"], "unrecognized subcommand"),
        (&["prefetch", "5..5"], "invalid value"),
        (&["--help"], ""),
        (&["help"], "unrecognized subcommand"),
        (&[""], "unrecognized subcommand"),
    ] {
        let said = broker.refused(words);
        assert!(
            said.contains(why) && !said.contains('\n'),
            "{words:?}: {said}"
        );
    }
    let pages = [&["prefetch"][..], &["0..4KiB"; 17]].concat();
    assert!(broker.refused(&pages).contains("at most 16 ranges"));
    let long = "x".repeat(5000);
    let why = broker.ask(&["stats", &long]).expect_err("too long");
    assert!(matches!(why, BrokerError::TooLong(5007, 4096)), "{why}");
    let more = Broker::start("stats,set".parse().expect("kinds"));
    assert!(more.ask(&["policy", "lru"]).is_ok());
    assert!(more.refused(&["map"]).contains("does not allow map"));
}

#[test]
fn what_cannot_be_served_is_named() {
    for (given, named) in [("", ""), ("stats,powercut", "powercut"), ("all", "all")] {
        let why = given.parse::<Allow>().expect_err("no kinds").to_string();
        assert!(
            why.contains(named) && why.contains("stats, map, hints, pin"),
            "{why}"
        );
    }
    for mode in ["", "rw", "1777", "0999", "00660", "-660"] {
        let why = Access::new(mode, None).expect_err("no mode").to_string();
        assert!(why.contains("such as 0660"), "{mode}: {why}");
    }
    let why = Access::new("0660", Some("no-such-group")).expect_err("no group");
    assert!(why.to_string().contains("no-such-group"), "{why}");
    let root = Access::new("0660", Some("root")).expect("a group");
    assert_eq!(root, Access::new("660", Some("0")).expect("a group"));
}

/// Bytes that are no messages, of every length that they state and every length that comes.
#[test]
fn no_message_harms_the_broker() {
    let broker = Broker::start(Allow::default());
    let mut state = 1u64;
    let mut random = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        state >> 33
    };
    for round in 0..400u64 {
        let mut client = broker.connect();
        let count = random() % 64;
        let mut bytes: Vec<u8> = (0..count).map(|_| random() as u8).collect();
        // Often a length that is right, and words that begin as commands do.
        if round % 2 == 0 {
            let words = [
                "stats\0--json",
                "map\0all",
                "prefetch\x000..4KiB",
                "pin\0all",
            ];
            let mut text = words[random() as usize % 4].as_bytes().to_vec();
            let place = random() as usize % text.len();
            text[place] = random() as u8;
            text.extend(&bytes);
            bytes = [&(text.len() as u32).to_le_bytes()[..], &text].concat();
        }
        // The broker may have ended it already.
        let _ = client.write_all(&bytes);
        match random() % 3 {
            0 => drop(client),
            1 => {
                let _ = client.shutdown(std::net::Shutdown::Write);
                rest_of(client);
            }
            _ => {
                rest_of(client);
            }
        }
    }
    for length in [4097u32, 1 << 20, u32::MAX] {
        // Places of clients that have gone may be taken for a moment.
        let mut tries = (0..1000).map(|_| {
            let mut client = broker.connect();
            let _ = client.write_all(&length.to_le_bytes());
            rest_of(client)
        });
        let said = tries.find(|said| !is_busy(said)).expect("a place");
        assert!(said.is_empty(), "{length}");
    }
    broker.assert_well();
    let heard = broker.heard.lock().expect("no panic");
    let allowed = [
        "Stats",
        "Map",
        "Prefetch",
        "Cold",
        "Sequential",
        "Random",
        "Normal",
    ];
    assert!(
        heard
            .iter()
            .all(|one| allowed.iter().any(|name| one.starts_with(name)))
    );
}

/// Clients that say nothing, a byte, or half of a message have their places for so long, and no
/// longer. A client that comes meanwhile hears at once that the broker is busy.
#[test]
fn clients_that_stall_are_let_go() {
    let broker = Broker::start(Allow::default());
    let begins = [&b""[..], b"\x05", b"\x05\0\0\0", b"\x05\0\0\0stat"];
    let stall = |_| {
        let stalled = begins.map(|begin| {
            let mut client = broker.connect();
            client.write_all(begin).expect("room");
            client
        });
        let fifth = rest_of(broker.connect());
        for client in stalled {
            let said = rest_of(client);
            assert!(said.is_empty() || is_busy(&said));
        }
        is_busy(&fifth)
    };
    // Unless this host stops for so long that the first are gone before the fifth comes.
    assert!((0..20).any(stall));
    broker.assert_well();
}

/// A byte now and then is no reason to wait for the next: the moment counts, not the pause.
#[test]
fn a_client_that_trickles_is_let_go() {
    let broker = Broker::start(Allow::default());
    let mut client = broker.connect();
    client.write_all(&4096u32.to_le_bytes()).expect("room");
    let sent = (0..4096).take_while(|_| {
        std::thread::sleep(Duration::from_millis(20));
        client.write_all(b"x").is_ok()
    });
    assert!(
        sent.count() < 4000,
        "it was waited for until it had said all"
    );
    broker.assert_well();
}

/// One that never reads fills the buffers of its own connection; others are answered.
#[test]
fn a_client_that_does_not_read_or_dies_holds_nobody_up() {
    let broker = Broker::with(Allow::default(), |command| match command {
        CtlCommand::Map(_) => "x".repeat(1 << 20),
        CtlCommand::Normal(_) => "x".repeat((1 << 20) + 1),
        command => format!("{command:?}"),
    });
    let request = |client: &mut UnixStream| {
        let words = b"map";
        let message = [&(words.len() as u32).to_le_bytes()[..], words].concat();
        client.write_all(&message).expect("room");
    };
    let mut dead = broker.connect();
    request(&mut dead);
    drop(dead);
    broker.assert_well();
    // A user has as many clients as are allowed: the broker is well again once they are let go.
    let deaf: Vec<UnixStream> = (0..4)
        .map(|_| {
            let mut client = broker.connect();
            request(&mut client);
            client
        })
        .collect();
    broker.assert_well();
    // A long answer arrives as a whole, and one that is too long does not come.
    let whole = broker.ask(&["map"]).expect("allowed");
    assert_eq!(whole.text.len(), 1 << 20);
    let why = refusal(broker.ask(&["normal", "0..4KiB"]));
    assert!(why.contains("name a smaller range"), "{why}");
    drop(deaf);
}

/// A command that takes long holds others up for as long as they care to wait.
#[test]
fn whoever_waits_for_another_command_gives_up() {
    let (go, wait) = channel::<()>();
    let wait: Mutex<Receiver<()>> = Mutex::new(wait);
    let (begun, has_begun) = channel::<()>();
    let broker = Arc::new(Broker::with(Allow::default(), move |command| {
        if matches!(command, CtlCommand::Map(_)) {
            begun.send(()).expect("the test waits");
            wait.lock()
                .expect("no panic")
                .recv()
                .expect("the test lets go");
        }
        format!("{command:?}")
    }));
    let slow = broker.clone();
    let slow = std::thread::spawn(move || slow.ask(&["map"]).expect("an answer"));
    has_begun.recv().expect("it begins");
    let why = broker.refused(&["stats"]);
    assert!(why.contains("busy with commands of others"), "{why}");
    go.send(()).expect("it waits");
    assert!(slow.join().expect("no panic").is_done);
    broker.assert_well();
}

#[test]
fn a_path_is_taken_from_nobody_but_a_broker_that_was_killed() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let make = |name: &str| Listening::new(&at(name), &access("0640"));
    std::fs::write(at("file"), "kept").expect("room");
    std::os::unix::fs::symlink(at("file"), at("link")).expect("room");
    std::fs::create_dir(at("folder")).expect("room");
    for name in ["file", "link", "folder"] {
        let why = make(name).expect_err("no socket").to_string();
        assert!(why.contains("no socket; remove it"), "{why}");
    }
    assert_eq!(std::fs::read(at("file")).expect("as before"), b"kept");
    let missing = make("no/such").expect_err("no folder").to_string();
    assert!(missing.contains("No such file"), "{missing}");
    let listening = make("socket").expect("a socket");
    let found = at("socket").symlink_metadata().expect("there");
    assert!(found.file_type().is_socket());
    assert_eq!(
        (found.permissions().mode() & 0o777, found.gid()),
        (0o640, own_group())
    );
    assert!(matches!(make("socket"), Err(BrokerError::Served(_))));
    // As after a kill -9: the socket stays, and nobody listens.
    drop(listening);
    assert!(at("socket").exists());
    let nobody = ask(&at("socket"), &["stats".to_owned()]).expect_err("nobody");
    assert!(matches!(nobody, BrokerError::NoBroker(_)), "{nobody}");
    let again = make("socket").expect("replaced");
    // A broker that is killed while it is asked.
    let asking = std::thread::spawn({
        let path = at("socket");
        move || ask(&path, &["stats".to_owned()])
    });
    drop(again);
    assert!(asking.join().expect("no panic").is_err());
    // What listens and says nonsense.
    let liar = UnixListener::bind(at("liar")).expect("a socket");
    let answers = std::thread::spawn(move || {
        for lie in [
            &b"\x07\0\0\0\0"[..],
            b"\0\xff\xff\xff\xff",
            b"\0\x01\0\0\0\xff",
            b"\0",
        ] {
            let (mut client, _) = liar.accept().expect("a client");
            client.write_all(lie).expect("room");
        }
    });
    for _ in 0..4 {
        let why = ask(&at("liar"), &["stats".to_owned()]).expect_err("a lie");
        assert!(matches!(why, BrokerError::Gone), "{why}");
    }
    answers.join().expect("no panic");
}

/// The group of what this process makes.
fn own_group() -> u32 {
    let file = tempfile::tempfile().expect("room");
    file.metadata().expect("a file").gid()
}
