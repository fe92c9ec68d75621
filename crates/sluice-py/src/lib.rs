//! Python bindings: conversions only.

mod device;
mod errors;
mod event;
mod fabric;
mod instance;
mod own;
mod policy;
mod prefetcher;
mod python;
mod raised;
mod settings;
mod system;
mod trace;
mod workload;

use own::{Classes, Made, settle};
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use python::{Progress, detached, texts};
use serde::Serialize;
use settings::load;
use sluice_config::HOST_PARAMS;
use sluice_driver::Visibility;
use sluice_model::{DeviceConfig, EVICTIONS, GC_VICTIMS, PARAMS, PREFETCHES, SetIndex};
use sluice_net::{FABRIC_PARAMS, Length};
use sluice_results::{PolicyMisses, Replay, SimResult, to_json};
use sluice_simulation::STOP_EVERY;
use std::cell::Cell;
use std::ffi::OsString;
use std::time::Instant;
use workload::Workload;

/// The native half of the Python package `sluice`.
#[pymodule]
mod _core {
    use super::*;

    #[pymodule_export]
    use super::device::Device;
    #[pymodule_export]
    use super::event::PyEvent;
    #[pymodule_export]
    use super::trace::TraceReader;

    /// The version of the device model that this module was built from.
    #[pyfunction]
    fn version() -> &'static str {
        env!("CARGO_PKG_VERSION")
    }

    /// The devices that come with Sluice: dicts of name, meaning and toml.
    #[pyfunction]
    fn presets(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
        let all = sluice_config::presets().iter();
        all.map(|preset| {
            let text = [
                ("name", preset.name),
                ("meaning", preset.meaning),
                ("toml", preset.toml),
            ];
            texts(py, &text)
        })
        .collect()
    }

    /// The systems that come with Sluice: dicts of name, meaning and toml.
    #[pyfunction]
    fn systems(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
        super::system::all(py)
    }

    /// The fabrics that come with Sluice: dicts of name, meaning and toml.
    #[pyfunction]
    fn fabrics(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
        super::fabric::all(py)
    }

    /// Every parameter of a fabric, in the form of `params`.
    #[pyfunction]
    fn fabric_params(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
        let params = FABRIC_PARAMS.iter();
        params.map(|param| param_dict(py, param)).collect()
    }

    /// Requesters and memories on switches: the object that `sluice fabric run` prints, as a dict.
    ///
    /// `fabric` is a name or the path of a TOML file; `overrides` are values by key. The other
    /// arguments are those of the command. Raises `sluice.ConfigError` and `sluice.WorkloadError`.
    #[pyfunction]
    #[pyo3(signature = (
        fabric, overrides = None, warmup = 100_000, requests = 256_000, seed = 1, progress = None
    ))]
    fn simulate_fabric<'py>(
        py: Python<'py>,
        fabric: &str,
        overrides: Option<&Bound<'py, PyDict>>,
        warmup: u64,
        requests: u64,
        seed: u64,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let length = Length { warmup, requests };
        let text = super::fabric::simulate(py, fabric, overrides, length, seed, progress)?;
        loads(py, &text)
    }

    /// Every parameter of a device: dicts of key, default, expected, choices, meaning and source.
    #[pyfunction]
    fn params(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
        PARAMS.iter().map(|param| param_dict(py, param)).collect()
    }

    /// Every parameter of a simulated host, in the same form.
    #[pyfunction]
    fn host_params(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
        let params = HOST_PARAMS.iter();
        params.map(|param| param_dict(py, param)).collect()
    }

    /// The checked settings of a system (a name or the path of a TOML file), by key, with what
    /// `scale` divides divided.
    ///
    /// `overrides` are values by key, at full size. Raises `sluice.ConfigError`.
    #[pyfunction]
    #[pyo3(signature = (system, overrides = None, scale = 1))]
    fn resolve_system<'py>(
        py: Python<'py>,
        system: &str,
        overrides: Option<&Bound<'py, PyDict>>,
        scale: u32,
    ) -> PyResult<Bound<'py, PyDict>> {
        super::system::resolve(py, system, overrides, scale)
    }

    /// A kernel, or a trace as `trace:PATH`, on a simulated host with its device: the object that
    /// `sluice sim --system` prints, as a dict.
    ///
    /// `scale`, `warmup`, `instructions`, `timeline` (a time such as "100us") and `check` are
    /// those of the command, with its defaults. Raises `sluice.ConfigError` and
    /// `sluice.WorkloadError`.
    #[pyfunction]
    #[pyo3(signature = (
        system, workload, overrides = None, scale = None, warmup = None, instructions = None,
        timeline = None, seed = 1, check = false, progress = None
    ))]
    #[expect(clippy::too_many_arguments, reason = "keywords in Python")]
    fn simulate_system<'py>(
        py: Python<'py>,
        system: &str,
        workload: OsString,
        overrides: Option<&Bound<'py, PyDict>>,
        scale: Option<u32>,
        warmup: Option<u64>,
        instructions: Option<u64>,
        timeline: Option<&str>,
        seed: u64,
        check: bool,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let asked = super::system::Asked {
            name: system,
            workload: &workload,
            scale,
            warmup,
            instructions,
            timeline,
            seed,
            check,
        };
        let text = super::system::simulate(py, &asked, overrides, progress)?;
        loads(py, &text)
    }

    /// Every policy: dicts of kind (eviction, prefetch or gc), name, meaning, source and uses_hits.
    #[pyfunction]
    fn policies(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
        let evictions = EVICTIONS.iter().map(|entry| ("eviction", &entry.info));
        let prefetches = PREFETCHES.iter().map(|entry| ("prefetch", &entry.info));
        let policies = evictions
            .chain(prefetches)
            .map(|(kind, info)| (kind, info.name, info.meaning, info.source, info.uses_hits));
        let victims = GC_VICTIMS.iter().map(|entry| {
            let info = &entry.info;
            ("gc", info.name, info.meaning, info.source, false)
        });
        let all = policies.chain(victims);
        all.map(|(kind, name, meaning, source, uses_hits)| {
            let text = [
                ("kind", kind),
                ("name", name),
                ("meaning", meaning),
                ("source", source),
            ];
            let dict = texts(py, &text)?;
            dict.set_item("uses_hits", uses_hits)?;
            Ok(dict)
        })
        .collect()
    }

    /// The checked settings of a device (a preset or the path of a TOML file), by key.
    ///
    /// `overrides` are values by key. Raises `sluice.ConfigError`.
    #[pyfunction]
    #[pyo3(signature = (device, overrides = None))]
    fn resolve<'py>(
        py: Python<'py>,
        device: &str,
        overrides: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let raw = load(py, device, overrides)?;
        DeviceConfig::new(&raw).map_err(|error| errors::config(py, &error))?;
        let pairs: Vec<_> = raw.to_pairs();
        let text: Vec<_> = pairs.iter().map(|(key, value)| (*key, &**value)).collect();
        texts(py, &text)
    }

    /// A workload on a simulated device: the object that `sluice sim` prints, as a dict.
    ///
    /// `workload` is a pattern, or `trace:` and the path of a Sluice trace, whose CPUs each are a
    /// requester. `hits` is what the device sees: "all" accesses, or only "misses" as when
    /// programs run live. With `bound` it also returns the misses of Belady's optimum. The first
    /// `warmup` accesses are not counted. Raises `sluice.ConfigError`, `sluice.WorkloadError` and
    /// `sluice.TraceError`.
    ///
    /// `policy` is a class such as `sluice.Policy`, which decides in the place of `cache.policy`.
    /// What it raises is raised here; an answer that breaks its contract is `sluice.PolicyError`.
    /// `prefetcher` is a class such as `sluice.Prefetcher`, in the place of `prefetch.policy`, with
    /// the same rules. `progress` is called now and then with the accesses done and, where it is
    /// known, of how many; so it is in `simulate_system` and `simulate_fabric`.
    #[pyfunction]
    #[pyo3(signature = (
        device, overrides = None, workload = OsString::from("chase"), hits = "all", seed = 1,
        bound = false, policy = None, warmup = 0, prefetcher = None, progress = None
    ))]
    #[expect(clippy::too_many_arguments, reason = "keywords in Python")]
    fn simulate<'py>(
        py: Python<'py>,
        device: &str,
        overrides: Option<&Bound<'py, PyDict>>,
        workload: OsString,
        hits: &str,
        seed: u64,
        bound: bool,
        policy: Option<&Bound<'py, PyAny>>,
        warmup: u64,
        prefetcher: Option<&Bound<'py, PyAny>>,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let raw = load(py, device, overrides)?;
        let config = DeviceConfig::simulated(&raw).map_err(|error| errors::config(py, &error))?;
        if bound && let Some(why) = sluice_simulation::no_bound(&config, warmup) {
            return Err(errors::unfit(py, "bound", why));
        }
        let asked = Workload::new(py, &workload, &config, seed)?;
        let plan = sluice_simulation::Plan {
            device,
            config: &config,
            workload: &workload.to_string_lossy(),
            visibility: visibility(py, hits)?,
            seed,
            bound,
            histogram: false,
            warmup,
        };
        let made = Made::new(py, &config, seed, Classes { policy, prefetcher })?;
        let text = simulate_detached(py, &plan, &asked, made, progress)?;
        loads(py, &text)
    }

    /// A trace of pages on a simulated device, one load at a time, every access visible.
    ///
    /// `pages` is a buffer of unsigned 32-bit page numbers, such as a NumPy array. Returns a dict
    /// of accesses, hits, misses and the seconds it took. `policy` and `prefetcher` are as in
    /// `simulate`. Raises `sluice.ConfigError`.
    #[pyfunction]
    #[pyo3(signature = (device, overrides, pages, seed = 1, policy = None, prefetcher = None))]
    fn replay<'py>(
        py: Python<'py>,
        device: &str,
        overrides: Option<&Bound<'py, PyDict>>,
        pages: PyBuffer<u32>,
        seed: u64,
        policy: Option<&Bound<'py, PyAny>>,
        prefetcher: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let raw = load(py, device, overrides)?;
        let config = DeviceConfig::simulated(&raw).map_err(|error| errors::config(py, &error))?;
        let pages = pages.to_vec(py)?;
        check_pages(py, &config, &pages)?;
        let classes = Classes { policy, prefetcher };
        let Made {
            mut device,
            raised,
            has_policy,
            ..
        } = Made::new(py, &config, seed, classes)?;
        let start = Instant::now();
        detached(py, &Progress::default(), |stop| {
            sluice_driver::replay(&mut device, &pages, || raised.is_some() || stop(0))
        })?;
        let seconds = start.elapsed().as_secs_f64();
        settle(py, &raised, has_policy, device.stats().policy_refused)?;
        let stats = device.stats();
        dict_of(
            py,
            &Replay {
                accesses: stats.accesses(),
                hits: stats.hits,
                misses: stats.misses,
                seconds,
            },
        )
    }

    /// Misses of Belady's optimum on a trace of pages: no cache of as many pages has fewer
    /// without prefetching. `ways` are pages in a set; by default all of them.
    #[pyfunction]
    #[pyo3(signature = (pages, cache_pages, ways = None))]
    fn optimum(
        py: Python<'_>,
        pages: PyBuffer<u32>,
        cache_pages: u32,
        ways: Option<u32>,
    ) -> PyResult<u64> {
        let pages = pages.to_vec(py)?;
        let ways = ways.unwrap_or(cache_pages);
        if ways == 0 || cache_pages == 0 || !cache_pages.is_multiple_of(ways) {
            let given = format!("{cache_pages} in sets of {ways}");
            return Err(errors::bad_value(
                py,
                "cache_pages",
                &given,
                "whole sets of 1 way or more",
            ));
        }
        let sets = cache_pages / ways;
        let misses = detached(py, &Progress::default(), |stop| {
            sluice_driver::optimum(&pages, sets, ways, SetIndex::Modulo, &|| stop(0))
        })?;
        Ok(misses.expect("what stops it is raised"))
    }

    /// Misses of a device's eviction policy on a trace of pages, without the rest of the device.
    ///
    /// `pages` as for `replay`. Returns a dict of misses and the seconds it took. Raises
    /// `sluice.ConfigError`.
    #[pyfunction]
    #[pyo3(signature = (device, overrides, pages, seed = 1))]
    fn policy_misses<'py>(
        py: Python<'py>,
        device: &str,
        overrides: Option<&Bound<'py, PyDict>>,
        pages: PyBuffer<u32>,
        seed: u64,
    ) -> PyResult<Bound<'py, PyAny>> {
        let raw = load(py, device, overrides)?;
        let config = DeviceConfig::simulated(&raw).map_err(|error| errors::config(py, &error))?;
        let pages = pages.to_vec(py)?;
        check_pages(py, &config, &pages)?;
        let Some(policy) = config.cache.built_in() else {
            let path = config.cache.plugin.clone().unwrap_or_default();
            let expected =
                "a policy of the model's; sluice.replay counts misses of a shared object";
            return Err(errors::bad_value(py, "cache.policy", &path, expected));
        };
        let pages: Vec<_> = pages.into_iter().map(sluice_units::Lpn).collect();
        let start = Instant::now();
        let misses = detached(py, &Progress::default(), |stop| {
            let mut parts = pages.chunks(STOP_EVERY as usize).take_while(|_| !stop(0));
            (policy.misses)(&config.space(seed), &mut parts)
        })?;
        let seconds = start.elapsed().as_secs_f64();
        dict_of(py, &PolicyMisses { misses, seconds })
    }
}

fn check_pages(py: Python<'_>, config: &DeviceConfig, pages: &[u32]) -> PyResult<()> {
    let beyond = pages.iter().find(|page| **page >= config.pages);
    beyond.map_or(Ok(()), |page| {
        let expected = format!("page numbers below {}, device.capacity", config.pages);
        Err(errors::bad_value(py, "pages", &page.to_string(), &expected))
    })
}

fn simulate_detached(
    py: Python<'_>,
    plan: &sluice_simulation::Plan<'_>,
    workload: &Workload,
    made: Made,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    let Made {
        device,
        raised,
        has_policy,
        ..
    } = made;
    let (stopped, streams) = (raised.clone(), workload.streams(py)?);
    let progress = Progress::new(progress, Some(workload.accesses()));
    let result = detached(py, &progress, move |stop| {
        // Asked after so many accesses of one of the streams.
        let asked = Cell::new(0);
        plan.run_on(device, streams, || {
            asked.set(asked.get() + STOP_EVERY);
            stopped.is_some() || stop(asked.get())
        })
    })?;
    workload.check(py)?;
    let result = result.map_err(|error| errors::run(py, &error))?;
    let refused = |result: &SimResult| result.cache.counts.policy_refused;
    settle(py, &raised, has_policy, result.as_ref().map_or(0, refused))?;
    Ok(result.as_ref().map(to_json).unwrap_or_default().to_string())
}

fn visibility(py: Python<'_>, hits: &str) -> PyResult<Visibility> {
    let all = [Visibility::All, Visibility::Misses];
    all.into_iter()
        .find(|one| sluice_simulation::visible(*one) == hits)
        .ok_or_else(|| errors::bad_value(py, "hits", hits, "one of all, misses"))
}

fn param_dict<'py>(py: Python<'py>, param: &sluice_model::Param) -> PyResult<Bound<'py, PyDict>> {
    let text = [
        ("key", param.key),
        ("default", param.default),
        ("expected", &param.kind.expected()),
        ("meaning", &param.explained()),
        ("source", param.source),
    ];
    let dict = texts(py, &text)?;
    dict.set_item("choices", param.kind.choices())?;
    Ok(dict)
}

/// A result as Python has it.
fn dict_of<'py>(py: Python<'py>, result: &impl Serialize) -> PyResult<Bound<'py, PyAny>> {
    loads(py, &to_json(result).to_string())
}

fn loads<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("json")?.call_method1("loads", (text,))
}
