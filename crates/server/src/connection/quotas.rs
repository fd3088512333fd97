//! How much one caller may have open at once, over all connections.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use access::Principal;

use crate::error::Refusal;

/// What a caller may have several of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// A stream that stays open for news.
    Stream,
    /// A session with what it remembers.
    Session,
    /// A call that is under way.
    Call,
}

/// The most that one caller may have.
#[derive(Clone, Copy, Debug)]
pub struct Places {
    /// Streams.
    pub streams: usize,
    /// Sessions.
    pub sessions: usize,
    /// Calls under way.
    pub calls: usize,
}

impl Default for Places {
    fn default() -> Self {
        Self { streams: 8, sessions: 100, calls: 256 }
    }
}

/// Who has how much.
pub(crate) struct Crowd {
    most: Places,
    taken: Mutex<HashMap<(String, Place), usize>>,
}

/// One place, until it is dropped.
pub struct Seat {
    crowd: Arc<Crowd>,
    key: (String, Place),
}

impl Crowd {
    pub(crate) fn new(most: Places) -> Arc<Self> {
        Arc::new(Self { most, taken: Mutex::default() })
    }

    pub(crate) fn take(self: &Arc<Self>, principal: &Principal, place: Place) -> Result<Seat, Refusal> {
        let (most, full) = match place {
            Place::Stream => (self.most.streams, Refusal::TooManyStreams { limit: self.most.streams }),
            Place::Call => (self.most.calls, Refusal::TooManyCalls { limit: self.most.calls }),
            Place::Session => (self.most.sessions, Refusal::TooManySessions { limit: self.most.sessions }),
        };
        let key = (principal.subject().to_owned(), place);
        let mut taken = self.lock();
        let count = taken.entry(key.clone()).or_default();
        if *count >= most {
            return Err(full);
        }
        *count += 1;
        Ok(Seat { crowd: Arc::clone(self), key })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<(String, Place), usize>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut taken = self.crowd.lock();
        if let Some(count) = taken.get_mut(&self.key) {
            *count -= 1;
            if *count == 0 {
                taken.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use access::Scope;

    use super::*;

    #[test]
    fn a_place_that_is_given_back_can_be_taken_again() {
        let crowd = Crowd::new(Places { streams: 1, sessions: 2, calls: 1 });
        let me = Principal::local_user(Scope::Read);
        let seat = crowd.take(&me, Place::Stream);
        assert!(crowd.take(&me, Place::Stream).is_err());
        assert!(crowd.take(&me, Place::Session).is_ok(), "counted apart");
        drop(seat);
        assert!(crowd.take(&me, Place::Stream).is_ok());
        assert!(crowd.lock().is_empty(), "nobody is remembered who has nothing");
    }
}
