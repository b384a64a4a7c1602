/* mad_pre.h: what the mad netmod keeps inside MPICH's own objects.
 *
 * MPICH's core includes this file everywhere, so it is deliberately small and knows libmad's
 * handles by name only: a new libmad, or a change in a .c file of the netmod, never rebuilds
 * MPICH's core.
 */
#ifndef MAD_PRE_H_INCLUDED
#define MAD_PRE_H_INCLUDED

struct mad_peer;
struct mad_type;
struct mad_incoming;
struct mad_receive;
struct mad_message;
struct MPIDI_MAD_collective;
struct MPIDI_MAD_piggyback;
struct MPIDI_MAD_shared;
struct MPIDI_MAD_board;
struct MPIDI_MAD_neighbor;

/* Room for libmad's operation slot (mad_op); mad_am.c asserts that it fits. */
typedef struct {
  void* words[2];
} MPIDI_MAD_slot_t;

/* One direction of an active-message request.  A request sends and receives at the same time when
 * an RMA reply overtakes the completion of the message that asked for it, hence one for each. */
typedef struct {
  MPIDI_MAD_slot_t slot;
  void* buffer;    /* of the whole message, on path "off" or for its fields, else NULL */
  uint8_t handler; /* sends: whose origin callback to call */
  uint8_t partial; /* receives by active message: it is shorter than a layout with holes */
  uint8_t fields;  /* point-to-point receives: `buffer` is copied field by field */
} MPIDI_MAD_transfer_t;

typedef struct {
  MPIDI_MAD_transfer_t send;
  MPIDI_MAD_transfer_t recv;
  struct mad_incoming* incoming; /* payload that waits for its receive, else NULL */
  uint64_t incoming_bytes;
  struct mad_peer* acknowledger; /* one-sided operations: who still owes the answer, else NULL */
  struct mad_receive* receive;   /* point-to-point: a receive that is not complete, else NULL */
  struct mad_message* message;   /* that a probe took and nobody has received, else NULL */
} MPIDI_MAD_am_request_t;

/* Point-to-point uses the same parts of a request as active messages do, which has no more. */
typedef struct {
  int unused;
} MPIDI_MAD_request_t;

/* The last name that our attribute was found to hold and what it means, valid while the generation,
 * which every change of such an attribute advances, is the same.  And the blocking collective
 * operation whose messages say of what type it is, else NULL.  And what its messages take along, or
 * who is told of what came with them, from the first wish for either on, else NULL. */
typedef struct {
  const char* name;
  uint32_t generation;
  int path;
  struct MPIDI_MAD_collective* collective;
  struct MPIDI_MAD_piggyback* piggyback;
  struct MPIDI_MAD_board* board;
  int short_collectives;
} MPIDI_MAD_comm_t;

/* MPICH makes type objects without telling the device and may leave any bytes here; what a seal is
 * of is there when it points to the slot itself. */
typedef struct {
  struct mad_type* type;
  const void* seal;   /* of the compiled layout, from commit or first use on */
  const void* fields; /* a seal: it is a type of few fields (mad_struct.c) */
} MPIDI_MAD_dt_t;

typedef struct {
  struct mad_peer* peer;
} MPIDI_MAD_addr_t;

typedef struct {
  int unused;
} MPIDI_MAD_op_t;

typedef struct {
  /* What the processes of a node share of a window beside its memory; valid while the window has
   * the attribute MPIDI_WINATTR_SHM_ALLOCATED. */
  struct MPIDI_MAD_shared* shared;
  struct MPIDI_MAD_member* members; /* by rank */
  /* Over the user's memory, by rank in the node; NULL: all is messages (mad_kernel.c). */
  struct MPIDI_MAD_neighbor* neighbors;
  struct MPIDI_MAD_remote* remotes; /* by rank; NULL: of nobody has the fabric the memory */
  struct mad_region* region;        /* this process's, if a fabric has it, else NULL */
  int trouble; /* an operation's error, which no synchronisation has returned yet; or 0 */
} MPIDI_MAD_win_t;

typedef struct {
  int unused;
} MPIDI_MAD_part_t;

#endif /* MAD_PRE_H_INCLUDED */
