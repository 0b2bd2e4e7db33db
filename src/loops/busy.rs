//! Conversations that are being worked on: in each, one thing after the other; all of them side by side.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use channels::ConversationId;
use store::{Bell, Db};

/// The conversations that a loop works on now. A cache: the rows say what there is to do.
#[derive(Clone, Default)]
pub(super) struct Busy(Arc<Mutex<BTreeSet<ConversationId>>>);

impl Busy {
    /// Enters a conversation; `None` where somebody is there. Leaving it rings `bell`: what came meanwhile was passed
    /// over.
    pub(super) fn enter(&self, conversation: &ConversationId, db: &Db, bell: Bell) -> Option<Entered> {
        let mut inside = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        inside.insert(conversation.clone()).then(|| Entered {
            busy: self.clone(),
            conversation: conversation.clone(),
            db: db.clone(),
            bell,
        })
    }

    /// Whether somebody is there.
    pub(super) fn has(&self, conversation: &ConversationId) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(conversation)
    }
}

/// Somebody is in a conversation, until this is dropped: also where their work fails.
pub(super) struct Entered {
    busy: Busy,
    conversation: ConversationId,
    db: Db,
    bell: Bell,
}

impl Drop for Entered {
    fn drop(&mut self) {
        self.busy.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.conversation);
        self.db.ring(self.bell);
    }
}
