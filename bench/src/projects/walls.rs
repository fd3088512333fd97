//! Another's projects beside absent ones: whoever asks must not learn from the time which of the two it is.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::sync::Mutex;

use super::caller::{Caller, stranger};
use super::case::Case;
use super::made::Site;
use super::marks::Marks;
use crate::Outcome;
use crate::database::rate;
use crate::table::{Table, median};

/// Projects of each kind that are asked for in turn.
const SITES: usize = 96;
/// Absent ones have numbers from here on.
const ABSENT: usize = 5_000_000;
/// How many times longer one of the two may take.
const WANTED: f64 = 1.1;
const COLUMNS: [&str; 3] = ["another's, µs", "absent, µs", "another's / absent (0.91 to 1.1)"];

/// Asks for projects that are all in the store and belong to somebody else, and for some that are not there.
pub(super) fn table(
    runtime: &Runtime,
    store: &Arc<dyn store::Store>,
    name: &str,
    quick: bool,
    marks: &mut Marks,
) -> Outcome<Table> {
    let (rounds, span) = if quick { (1, 20) } else { (41, 50) };
    let span = Duration::from_millis(span);
    let caller = Arc::new(Mutex::new(runtime.block_on(stranger(store))?));
    let kinds: [Arc<[Site]>; 2] =
        [0, ABSENT].map(|from| (from..from + SITES).map(Site::of).collect::<Vec<_>>().into());
    let mut table = Table::plain(format!("Another's projects beside absent ones, in {name}"), &COLUMNS);
    for case in Case::ALL.into_iter().filter(|case| *case != Case::ListProjects) {
        let mut times = [Vec::new(), Vec::new()];
        for round in 0..=rounds {
            for side in (0..2).map(|side| (side + round) % 2) {
                let time = runtime.block_on(refusals(&caller, &kinds[side], case, span))?;
                // The first round is for whoever has to warm up.
                times[side].extend((round > 0).then_some(time));
            }
        }
        let [another, absent] = times;
        let ratio = median(another.iter().zip(&absent).map(|(another, absent)| another / absent).collect());
        let most = ratio.map(|ratio| ratio.max(1.0 / ratio));
        marks.hold(format!("{} of another's beside absent, {name}", case.name()), most, WANTED);
        table.row(case.name(), vec![median(another), median(absent), ratio]);
    }
    Ok(table)
}

/// How long one refusal takes, in microseconds.
async fn refusals(
    caller: &Arc<Mutex<Caller>>,
    sites: &Arc<[Site]>,
    case: Case,
    span: Duration,
) -> Outcome<f64> {
    let (caller, sites) = (Arc::clone(caller), Arc::clone(sites));
    let turn = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let one = move |_| {
        let at = turn.fetch_add(1, std::sync::atomic::Ordering::Relaxed) % SITES;
        let (caller, call) = (Arc::clone(&caller), case.call(&sites[at]));
        async move { caller.lock().await.refused(&call).await }
    };
    Ok(1e6 / rate(span, 1, one).await?)
}
