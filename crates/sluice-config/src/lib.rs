//! Presets and TOML files, read into the checked configuration of the device model.
