//! QEMU's arguments as the user gave them: what the machine must know of them, and what cannot be
//! had together with it.

use crate::error::Error;
use sluice_units::Bytes;

/// What the user gave.
#[derive(Clone, Debug)]
pub struct Given {
    /// `-m`: memory besides the device.
    pub memory: Option<Bytes>,
    /// `-smp`: the most CPUs there can be.
    pub cpus: u64,
    /// Whether `-cpu` is among the rest.
    pub has_cpu_model: bool,
    /// Everything else, to be passed on.
    pub rest: Vec<String>,
}

/// Options that would undo or repeat what is made here, with what to use instead.
const REFUSED: [(&str, &str); 10] = [
    ("M", "the machine is made here, as --attach says"),
    ("machine", "the machine is made here, as --attach says"),
    ("accel", "give --accel before the `--`"),
    ("enable-kvm", "give --accel kvm before the `--`"),
    ("no-kvm", "give --accel tcg before the `--`"),
    (
        "numa",
        "the nodes are made here: 0 with all CPUs, 1 the device",
    ),
    ("mem-path", "the device's memory is made here"),
    (
        "mem-prealloc",
        "pages of the device are made when they are touched",
    ),
    ("daemonize", "the result is printed when QEMU ends"),
    (
        "readconfig",
        "what it holds cannot be checked; give arguments",
    ),
];

const NOTHING: &str = "nothing to boot; give --demo, or QEMU's own arguments after `--`, such as \
                       -drive file=disk.qcow2,if=virtio";

/// Options of QEMU's that bring nothing to boot, and nobody who could add something later, with the
/// number of their values. What is not here may do either.
const BOOT_NOTHING: [(&str, usize); 26] = [
    ("nographic", 0),
    ("snapshot", 0),
    ("nodefaults", 0),
    ("no-user-config", 0),
    ("no-reboot", 0),
    ("no-shutdown", 0),
    ("no-acpi", 0),
    ("no-hpet", 0),
    ("no-fd-bootchk", 0),
    ("full-screen", 0),
    ("usb", 0),
    ("smp", 1),
    ("cpu", 1),
    ("display", 1),
    ("vga", 1),
    ("vnc", 1),
    ("k", 1),
    ("serial", 1),
    ("parallel", 1),
    ("name", 1),
    ("uuid", 1),
    ("rtc", 1),
    ("icount", 1),
    ("seed", 1),
    ("action", 1),
    ("pidfile", 1),
];
/// Values for which QEMU prints a list and ends.
const LISTS: [&str; 2] = ["help", "?"];

impl Given {
    /// Refuses a machine that has nothing to start from: it would wait for ever.
    pub fn check_boots(&self) -> Result<(), Error> {
        let mut words = self.rest.iter();
        while let Some(word) = words.next() {
            let Some((_, values)) = BOOT_NOTHING.iter().find(|(name, _)| *name == bare(word))
            else {
                return Ok(());
            };
            let mut values = words.by_ref().take(*values);
            if values.any(|value| LISTS.contains(&value.as_str())) {
                return Ok(());
            }
        }
        Err(Error::unfit("vm", NOTHING))
    }

    /// Refuses what the demo has of its own: QEMU would take its, and say nothing.
    pub fn check_demo(&self) -> Result<(), Error> {
        let is_own = |word: &&String| {
            let name = word.trim_start_matches('-');
            word.starts_with('-') && matches!(name, "kernel" | "initrd" | "append")
        };
        match self.rest.iter().find(is_own) {
            Some(word) => Err(Error::unfit(
                format!("bad QEMU argument `{word}`"),
                "--demo boots its own kernel; leave one of the two out",
            )),
            None => Ok(()),
        }
    }

    /// Takes the arguments apart.
    pub fn parse(args: &[String]) -> Result<Given, Error> {
        let mut given = Given {
            memory: None,
            cpus: 1,
            has_cpu_model: false,
            rest: Vec::new(),
        };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let name = bare(arg);
            if let Some((_, why)) = REFUSED.iter().find(|(refused, _)| *refused == name) {
                return Err(Error::unfit(format!("bad QEMU argument `{arg}`"), why));
            }
            match name {
                "m" => given.memory = Some(memory(args.next())?),
                "smp" => {
                    let value = value("-smp", args.next())?;
                    given.cpus = cpus(value)?;
                    given.rest.extend([arg.clone(), value.clone()]);
                }
                _ => {
                    given.has_cpu_model |= name == "cpu";
                    given.rest.push(arg.clone());
                }
            }
        }
        Ok(given)
    }
}

/// The name of an option; nothing of a word that is none.
fn bare(word: &str) -> &str {
    let name = word.strip_prefix('-').unwrap_or("");
    name.strip_prefix('-').unwrap_or(name)
}

fn value<'a>(option: &'static str, value: Option<&'a String>) -> Result<&'a String, Error> {
    let expected = match option {
        "-m" => "a size such as 2G",
        _ => "a number such as 4",
    };
    value.ok_or(Error::NoValue(option, expected))
}

/// `2G`, `2048` (MiB) or `size=2G`; K, M, G and T are powers of 1024.
fn memory(given: Option<&String>) -> Result<Bytes, Error> {
    let given = value("-m", given)?;
    let bad = |why: &str| Error::value("-m", given, why);
    let size = given.strip_prefix("size=").unwrap_or(given);
    if size.contains("slots=") || size.contains("maxmem=") {
        return Err(bad(
            "slots and maxmem are computed here; expected a size alone",
        ));
    }
    let digits = size.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match size[digits.len()..].to_ascii_uppercase().as_str() {
        "K" => 10,
        "" | "M" => 20,
        "G" => 30,
        "T" => 40,
        _ => return Err(bad("expected a size such as 2G")),
    };
    let count: u64 = digits
        .parse()
        .map_err(|_| bad("expected a size such as 2G"))?;
    let bytes = count.checked_mul(1 << shift).filter(|b| *b >= 64 << 20);
    bytes.map(Bytes).ok_or_else(|| bad("expected 64M or more"))
}

/// More CPUs than any machine of QEMU's has.
const CPUS_MAX: u64 = 1 << 16;

/// The most CPUs of `4`, `cpus=2,maxcpus=8` or `sockets=2,cores=2`.
fn cpus(given: &str) -> Result<u64, Error> {
    let (mut all, mut most, mut product) = (0, 0, 1);
    let bad = || {
        let why = "expected numbers such as 4 or cpus=4,maxcpus=8, and 1 to 65536 CPUs";
        Error::value("-smp", given, why)
    };
    let fits = |number: &u64| (1..=CPUS_MAX).contains(number);
    for part in given.split(',') {
        let (key, value) = part.split_once('=').unwrap_or(("cpus", part));
        let number: u64 = value.parse().ok().filter(fits).ok_or_else(bad)?;
        match key {
            "cpus" => all = number,
            "maxcpus" => most = number,
            _ => product = Some(product * number).filter(fits).ok_or_else(bad)?,
        }
    }
    Ok(all.max(most).max(product))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Given, Error> {
        let args: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        Given::parse(&args)
    }

    #[test]
    fn what_the_machine_must_know_is_found() {
        let given = parse("-kernel k -m 2G -smp cpus=2,maxcpus=8 --cpu host").unwrap();
        assert_eq!((given.memory, given.cpus), (Some(Bytes(2 << 30)), 8));
        assert!(given.has_cpu_model);
        assert_eq!(
            given.rest.join(" "),
            "-kernel k -smp cpus=2,maxcpus=8 --cpu host"
        );
        assert_eq!(parse("-m size=512").unwrap().memory, Some(Bytes(512 << 20)));
        assert_eq!(parse("-smp sockets=2,cores=3").unwrap().cpus, 6);
        assert_eq!(parse("-smp 65536").unwrap().cpus, 65_536);
        let none = parse("").unwrap();
        assert_eq!((none.memory, none.cpus), (None, 1));
    }

    #[test]
    fn a_machine_boots_from_what_may_bring_something() {
        let boots = |text: &str| parse(text).unwrap().check_boots().is_ok();
        for text in [
            "",
            "-m 2G -smp 2",
            "-snapshot",
            "--nographic -serial stdio",
            "-display none -cpu",
        ] {
            assert!(!boots(text), "{text}");
        }
        for text in [
            "-nographic -hda disk",
            "-snapshot disk.qcow2",
            "-display none -kernel k",
            "-nographic -qmp stdio",
            "-cpu help",
            "-version",
            "-nographic -an-option-of-a-newer-one",
        ] {
            assert!(boots(text), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_is_refused_with_its_name() {
        for (text, named) in [
            ("-machine pc", "-machine"),
            ("-M q35,nvdimm=on", "-M"),
            ("--enable-kvm", "--accel kvm"),
            ("-numa node", "-numa"),
            ("-m", "without its value"),
            ("-m 2X", "2X"),
            ("-m 2G,slots=4", "slots"),
            ("-m 1M", "64M"),
            ("-smp many", "many"),
            ("-smp 0", "cpus=4,maxcpus=8"),
            ("-smp 18446744073709551615", "cpus=4,maxcpus=8"),
            (
                "-smp sockets=4294967296,cores=4294967296",
                "cpus=4,maxcpus=8",
            ),
            ("-smp sockets=65536,cores=2", "sockets=65536,cores=2"),
            ("-daemonize", "-daemonize"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(named), "{text}: {error}");
        }
    }
}
