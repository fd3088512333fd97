//! Work that waits. A task from the start would be polled once more, on whatever thread, only to learn that it has to wait; so it
//! becomes one when it is woken, and most that wait do so once.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Wake, Waker};

use tokio::runtime::Handle;

pub(super) type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Lets work wait for whatever it waits for. That may have come already. The seat is taken until the work is done.
pub(super) fn sleep<S: Send + 'static>(mut work: Work, seat: S) {
    let bed = Arc::new(Bed { sleep: Mutex::new(Sleep::Empty), runtime: Handle::current() });
    let waker = Waker::from(Arc::clone(&bed));
    if work.as_mut().poll(&mut Context::from_waker(&waker)).is_pending() {
        bed.lay(Sleeper { work, seat });
    }
}

struct Sleeper<S> {
    work: Work,
    seat: S,
}

/// Where work sleeps.
struct Bed<S> {
    sleep: Mutex<Sleep<S>>,
    runtime: Handle,
}

enum Sleep<S> {
    /// Nobody is in it yet.
    Empty,
    Asleep(Sleeper<S>),
    /// It was woken. Whoever comes now need not lie down, and nobody can be woken twice.
    Over,
}

impl<S: Send + 'static> Bed<S> {
    fn lay(&self, sleeper: Sleeper<S>) {
        let mut sleep = self.sleep();
        match *sleep {
            Sleep::Empty => *sleep = Sleep::Asleep(sleeper),
            Sleep::Asleep(_) | Sleep::Over => {
                drop(sleep);
                self.rise(sleeper);
            }
        }
    }

    /// From here on it is a task, which is woken by the runtime's own means.
    fn rise(&self, sleeper: Sleeper<S>) {
        self.runtime.spawn(async move {
            let Sleeper { mut work, seat } = sleeper;
            work.as_mut().await;
            drop(seat);
        });
    }

    fn sleep(&self) -> MutexGuard<'_, Sleep<S>> {
        self.sleep.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S: Send + 'static> Wake for Bed<S> {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let sleep = std::mem::replace(&mut *self.sleep(), Sleep::Over);
        if let Sleep::Asleep(sleeper) = sleep {
            self.rise(sleeper);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::task::Poll;

    use futures_util::future::join;
    use tokio::sync::oneshot;

    use super::*;

    /// Puts work to sleep. It is done, and its seat is taken until then and no longer.
    async fn check(work: impl Future<Output = ()> + Send + 'static) {
        let seat = Arc::new(());
        let (end, ended) = oneshot::channel();
        let seen = Arc::clone(&seat);
        let work = async move {
            work.await;
            let _ = end.send(Arc::strong_count(&seen) > 2);
        };
        sleep(Box::pin(work), Arc::clone(&seat));
        assert_eq!(ended.await, Ok(true));
        while Arc::strong_count(&seat) > 1 {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn what_need_not_wait_is_done_at_once() {
        check(async {}).await;
    }

    #[tokio::test]
    async fn who_is_woken_before_they_lie_down_rises() {
        let mut polls = 0;
        let restless = poll_fn(move |context| {
            polls += 1;
            context.waker().wake_by_ref();
            context.waker().wake_by_ref();
            if polls > 3 { Poll::Ready(()) } else { Poll::Pending }
        });
        check(restless).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn who_is_woken_by_several_at_once_rises_once() {
        for _ in 0..200 {
            let (one, other) = (oneshot::channel::<()>(), oneshot::channel::<()>());
            let threads = [one.0, other.0].map(|waking| std::thread::spawn(|| waking.send(())));
            check(async { drop(join(one.1, other.1).await) }).await;
            for thread in threads {
                thread.join().unwrap().unwrap();
            }
        }
    }
}
