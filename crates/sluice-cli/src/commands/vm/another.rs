//! `--another NAME=DEVICE`, as the command line has it.

use crate::error::ArgumentError;
use sluice_control::home::{FIRST, NAME_MAX};
use std::str::FromStr;

/// A device and its name, as the command line has them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Another {
    pub name: String,
    /// A preset, or the path of a file.
    pub device: String,
}

impl FromStr for Another {
    type Err = ArgumentError;

    fn from_str(text: &str) -> Result<Another, ArgumentError> {
        let expected = |what: String| Err(ArgumentError::Expected(what));
        let Some((name, device)) = text
            .split_once('=')
            .filter(|(_, device)| !device.is_empty())
        else {
            return expected("NAME=DEVICE, such as slow=slow.toml".to_owned());
        };
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        let is_name = name.starts_with(|first: char| first.is_ascii_alphabetic())
            && name.len() < NAME_MAX
            && name.bytes().all(is_plain);
        if !is_name || name == FIRST {
            return expected(format!(
                "a name of 1 to {} letters, digits, `-` and `_` before the `=`, first a letter; \
                 `{FIRST}` is the device of --device",
                NAME_MAX - 1
            ));
        }
        Ok(Another {
            name: name.to_owned(),
            device: device.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_has_a_name_that_means_nothing_else() {
        let parsed: Another = "slow=a=b.toml".parse().unwrap();
        assert_eq!((&*parsed.name, &*parsed.device), ("slow", "a=b.toml"));
        let long = format!("{}=x", "n".repeat(NAME_MAX));
        for bad in [
            "slow", "slow=", "=x", "first=x", "a.b=x", "1=x", "a:b=x", &long,
        ] {
            assert!(bad.parse::<Another>().is_err(), "{bad}");
        }
    }
}
