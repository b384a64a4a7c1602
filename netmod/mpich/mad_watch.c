/* mad_watch.c: how a process hears of the death of one that it never spoke to.
 *
 * The ranks of the world form a ring in which each watches the next one that lives: it has a
 * connection to it, whose end says that the rank is gone.  Who learns so sends word round the ring.
 * The word is a reason to look, not a proof: who gets it contacts the rank, which a dead one's host
 * refuses at once.  The ring begins where a process has waited for a while for a message of anyone.
 */
#include "mad_core.h"

static mad_peer* peer_of(int rank) { return MPIDI_MAD_peer_at(&MPIDIU_get_av(0, rank)); }

static int status_of(int rank) { return MPIDI_MAD_status_at(&MPIDIU_get_av(0, rank)); }

static void pass_on(int dead, int hops) {
  const MPIDI_MAD_word_t word = {dead, hops};

  (void)mad_send_header(MPIDI_MAD_global.engine, peer_of(MPIDI_MAD_global.watched),
                        MPIDI_MAD_HANDLER_WATCH, &word, sizeof(word));
}

/* The next rank that is not gone, or this one. */
static int successor(void) {
  int rank = MPIR_Process.rank;

  do {
    rank = (rank + 1) % MPIR_Process.size;
  } while (rank != MPIR_Process.rank && status_of(rank) != MAD_SUCCESS);
  return rank;
}

/* A rank that is gone may have taken words with it, so the new one hears of all the dead. */
void MPIDI_MAD_keep_watch(void) {
  int next;

  if (!MPIDI_MAD_global.watching) return;
  next = successor();
  if (next == MPIDI_MAD_global.watched) return;
  MPIDI_MAD_global.watched = next;
  if (next == MPIR_Process.rank) return;
  pass_on(-1, 0);
  for (int rank = 0; rank < MPIR_Process.size; rank++) {
    int status = status_of(rank);
    if (status < 0 && status != MAD_ERR_CLOSED) pass_on(rank, MPIR_Process.size - 1);
  }
}

void MPIDI_MAD_watch(void) {
  if (MPIDI_MAD_global.watching || !MPIDI_MAD_global.connected) return;
  MPIDI_MAD_global.watching = true;
  MPIDI_MAD_global.watched = MPIR_Process.rank;
  MPIDI_MAD_keep_watch();
}

void MPIDI_MAD_watch_message(const MPIDI_MAD_word_t* word) {
  if (!MPIDI_MAD_global.connected) return;
  MPIDI_MAD_watch();
  if (word->dead < 0 || word->dead >= MPIR_Process.size || word->dead == MPIR_Process.rank) return;
  MPIDI_MAD_touch(peer_of(word->dead));
  if (word->hops > 1 && MPIDI_MAD_global.watched != MPIR_Process.rank)
    pass_on(word->dead, word->hops - 1);
}
