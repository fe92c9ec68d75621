//! The parameters of a system's host: its own, and those of what SkyByte's artifact does otherwise.

use sluice_params::Param;
use std::sync::LazyLock;

/// Every parameter of a host, grouped by table, in a fixed order. Those of the artifact stand at
/// the end of the table that their keys name.
pub static HOST_PARAMS: LazyLock<Vec<Param>> = LazyLock::new(|| {
    let own = sluice_host::HOST_PARAMS;
    let of_artifact = sluice_skybyte_artifact::PARAMS;
    let tables = own.chunk_by(|one, next| table_of(one) == table_of(next));
    let with_artifact = tables.flat_map(|table| {
        let is_of_table = |param: &&Param| table_of(param) == table_of(&table[0]);
        table.iter().chain(of_artifact.iter().filter(is_of_table))
    });
    with_artifact.copied().collect()
});

/// The part of a parameter's key before the point.
pub(crate) fn table_of(param: &Param) -> &'static str {
    param.key.split('.').next().unwrap_or(param.key)
}
