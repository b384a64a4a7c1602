/* mad.h: the C interface of libmad.
 *
 * libmad moves described data between processes: an engine (one per process) talks to peers over a
 * fabric; a type describes a memory layout once and is compiled at commit; a message is a small
 * header plus any amount of described payload.  MPICH's `mad` netmod is written against this header
 * and nothing else, and so can any other program be.  The second half is the Madeleine interface of
 * INRIA RT-0306 (begin_packing / pack / end_packing).
 *
 * Conventions.  Functions return MAD_SUCCESS, MAD_IN_PROGRESS or a negative mad_status;
 * mad_last_error() has the sentence.  Outputs are written only on success.  Sizes and offsets are
 * bytes.  An engine and what belongs to it is used by one thread at a time (any thread); types may
 * be shared.  No exception and no signal leaves the library; it prints nothing unless MAD_VERBOSE
 * or MAD_TRACE is set, but on standard error, once each: what keeps peers from being connected for
 * a while; and of the fabrics "ucx..." why shared memory or cma is not used, and what UCX calls an
 * error.
 */
#ifndef MAD_H
#define MAD_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define MAD_API __attribute__((visibility("default")))
#else
#define MAD_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define MAD_ABI_VERSION 18
#define MAD_ADDRESS_MAX 110   /* bytes of an engine's address; MPI's port names can carry as much */
#define MAD_FABRICS_MAX 4     /* fabrics of one engine */
#define MAD_FABRICS_BYTES 128 /* their names, as one text with its end */
#define MAD_VALUE_MAX 256     /* bytes of a value that a tagged message takes along */

typedef struct mad_engine mad_engine;
typedef struct mad_peer mad_peer;
typedef struct mad_type mad_type;
/* A message whose payload waits to be received or discarded. */
typedef struct mad_incoming mad_incoming;
/* Of tagged messages: a receive that is not complete, and a message taken out of those that wait.
 */
typedef struct mad_receive mad_receive;
typedef struct mad_message mad_message;

typedef enum mad_status {
  MAD_SUCCESS = 0,
  MAD_IN_PROGRESS = 1,    /* accepted; a callback follows */
  MAD_NOT_NOW = 2,        /* nothing was done: it cannot be done at once */
  MAD_ERR_ARGUMENT = -1,  /* a value the caller gave is wrong */
  MAD_ERR_NOT_FOUND = -2, /* no such fabric, provider or interface here */
  MAD_ERR_UNREACHABLE = -3,
  MAD_ERR_PEER_FAILED = -4,
  MAD_ERR_TRUNCATED = -5,
  MAD_ERR_MEMORY = -6,
  MAD_ERR_PROTOCOL = -7,
  MAD_ERR_VERSION = -8,
  MAD_ERR_CLOSED = -9,
  MAD_ERR_INTERNAL = -10,
  MAD_ERR_CORRUPT = -11,   /* a payload whose checksum is wrong; other messages go on */
  MAD_ERR_CONVERSION = -12 /* a value of another kind of machine that there is no room for here, as
                              a long of 8 bytes in one of 4; other messages go on */
} mad_status;

/* The last error's sentence in this thread: what was wrong, what was expected, what to do. */
MAD_API const char* mad_last_error(void);

/* ---- data paths ---- */

/* How one side treats the layout of its own memory.  The wire is the same for all, so the two sides
 * need not agree. */
typedef enum mad_path {
  MAD_PATH_AUTO = 0, /* planned from the layout's shape and the fabric */
  MAD_PATH_GATHER,   /* every run referenced in place, as many packets as needed */
  MAD_PATH_HYBRID,   /* short runs staged together, long runs referenced */
  MAD_PATH_PIPELINE, /* everything staged, chunk by chunk */
  MAD_PATH_PACK,     /* one buffer of the whole message, packed by libmad's engine */
  MAD_PATH_OFF,      /* one buffer of the whole message, packed by the caller: libmad sees bytes */
  MAD_PATH_COUNT
} mad_path;

MAD_API int mad_path_parse(const char* name, mad_path* path); /* MAD_ERR_ARGUMENT: unknown */
MAD_API const char* mad_path_name(mad_path path);
MAD_API const char* mad_path_names(void); /* "auto, gather, hybrid, pipeline, pack, off" */

/* ---- types ---- */

/* Description trees.  Each call returns a new reference in *out and keeps its own references to
 * children. Displacements and strides are bytes, lengths count children.  Counts may be 0, strides
 * and bounds negative.  All of MPI's combiners can be said with these. */
typedef enum mad_order { MAD_ORDER_C = 0, MAD_ORDER_FORTRAN } mad_order;
typedef enum mad_distribution {
  MAD_DIST_NONE = 0,
  MAD_DIST_BLOCK,
  MAD_DIST_CYCLIC
} mad_distribution;
#define MAD_DIST_DEFAULT_ARG (-1) /* as MPI_DISTRIBUTE_DFLT_DARG */

/* The basic kinds that MPI tells apart.  The numbers never change. */
typedef enum mad_basic {
  MAD_BASIC_BYTE = 0, /* uninterpreted */
  MAD_BASIC_PACKED,   /* a byte of data of any types; matches everything */
  MAD_BASIC_CHAR,
  MAD_BASIC_SIGNED_CHAR,
  MAD_BASIC_UNSIGNED_CHAR,
  MAD_BASIC_WCHAR,
  MAD_BASIC_SHORT,
  MAD_BASIC_UNSIGNED_SHORT,
  MAD_BASIC_INT,
  MAD_BASIC_UNSIGNED,
  MAD_BASIC_LONG,
  MAD_BASIC_UNSIGNED_LONG,
  MAD_BASIC_LONG_LONG,
  MAD_BASIC_UNSIGNED_LONG_LONG,
  MAD_BASIC_INT8,
  MAD_BASIC_INT16,
  MAD_BASIC_INT32,
  MAD_BASIC_INT64,
  MAD_BASIC_UINT8,
  MAD_BASIC_UINT16,
  MAD_BASIC_UINT32,
  MAD_BASIC_UINT64,
  MAD_BASIC_BOOL, /* C's _Bool */
  MAD_BASIC_FLOAT,
  MAD_BASIC_DOUBLE,
  MAD_BASIC_LONG_DOUBLE,
  MAD_BASIC_FLOAT_COMPLEX, /* C's */
  MAD_BASIC_DOUBLE_COMPLEX,
  MAD_BASIC_LONG_DOUBLE_COMPLEX,
  MAD_BASIC_AINT,      /* MPI_Aint */
  MAD_BASIC_OFFSET,    /* MPI_Offset */
  MAD_BASIC_COUNT,     /* MPI_Count */
  MAD_BASIC_CHARACTER, /* Fortran's from here on, of default kind */
  MAD_BASIC_LOGICAL,
  MAD_BASIC_INTEGER,
  MAD_BASIC_REAL,
  MAD_BASIC_DOUBLE_PRECISION,
  MAD_BASIC_FORTRAN_COMPLEX,
  MAD_BASIC_FORTRAN_DOUBLE_COMPLEX,
  MAD_BASIC_INTEGER1, /* Fortran's of so many bytes */
  MAD_BASIC_INTEGER2,
  MAD_BASIC_INTEGER4,
  MAD_BASIC_INTEGER8,
  MAD_BASIC_INTEGER16,
  MAD_BASIC_REAL4,
  MAD_BASIC_REAL8,
  MAD_BASIC_REAL16,
  MAD_BASIC_COMPLEX8,
  MAD_BASIC_COMPLEX16,
  MAD_BASIC_COMPLEX32,
  MAD_BASIC_CXX_BOOL, /* C++'s from here on */
  MAD_BASIC_CXX_FLOAT_COMPLEX,
  MAD_BASIC_CXX_DOUBLE_COMPLEX,
  MAD_BASIC_CXX_LONG_DOUBLE_COMPLEX,
  MAD_BASIC_KINDS /* how many there are */
} mad_basic;

MAD_API int mad_type_bytes(uint64_t size, mad_type** out); /* `size` uninterpreted bytes */
/* One element of a kind, of the size it has on this machine. */
MAD_API int mad_type_basic(mad_basic kind, mad_type** out);
MAD_API int mad_type_contiguous(uint64_t count, mad_type* child, mad_type** out);
MAD_API int mad_type_vector(uint64_t count, uint64_t blocklength, int64_t stride, mad_type* child,
                            mad_type** out);
MAD_API int mad_type_indexed(uint64_t count, const uint64_t* blocklengths,
                             const int64_t* displacements, mad_type* child, mad_type** out);
MAD_API int mad_type_indexed_block(uint64_t count, uint64_t blocklength,
                                   const int64_t* displacements, mad_type* child, mad_type** out);
MAD_API int mad_type_struct(uint64_t count, const uint64_t* blocklengths,
                            const int64_t* displacements, mad_type* const* children,
                            mad_type** out);
MAD_API int mad_type_subarray(int ndims, const uint64_t* sizes, const uint64_t* subsizes,
                              const uint64_t* starts, mad_order order, mad_type* child,
                              mad_type** out);
MAD_API int mad_type_darray(int size, int rank, int ndims, const uint64_t* gsizes,
                            const mad_distribution* distribs, const int64_t* dargs,
                            const int* psizes, mad_order order, mad_type* child, mad_type** out);
MAD_API int mad_type_resized(int64_t lb, int64_t extent, mad_type* child, mad_type** out);
MAD_API void mad_type_retain(mad_type* type);
MAD_API void mad_type_release(mad_type* type); /* safe while transfers of it are in flight */

/* Compiles the type; needed before it is sent or received.  Idempotent. */
MAD_API int mad_type_commit(mad_type* type);

typedef struct mad_type_info {
  uint64_t size; /* packed bytes of one element */
  uint64_t runs; /* contiguous runs of one element, after coalescing */
  int64_t lb;
  int64_t extent;
  int64_t true_lb;
  int64_t true_extent;
  int contiguous; /* any count of elements is one run */
} mad_type_info;
MAD_API int mad_type_query(const mad_type* type, mad_type_info* info); /* of a committed type */

/* The type signature of `count` elements in MPI's sense: a hash of the sequence of basic kinds and
 * its length.  Layout does not enter, nor how the sequence is split into count and type; every
 * process computes the same.  Two different sequences of n kinds have the same hash with a chance
 * of n / 2^61.  MAD_SIGNATURE_ANY: there are packed bytes in it, which match anything.  The type
 * need not be committed; the first call for a type takes time in proportion to its description. */
#define MAD_SIGNATURE_ANY UINT64_MAX
MAD_API int mad_type_signature(const mad_type* type, uint64_t count, uint64_t* hash,
                               uint64_t* elements);
/* The hash of the first `elements` basic elements of as many elements of the type as it takes: what
 * a receive that has room for more compares with what was sent.  MAD_ERR_ARGUMENT if the type has
 * none. */
MAD_API int mad_type_signature_prefix(const mad_type* type, uint64_t elements, uint64_t* hash);
/* The kind of the type's first basic element.  MAD_ERR_ARGUMENT if it has none. */
MAD_API int mad_type_first_kind(const mad_type* type, mad_basic* kind);

/* Packs / unpacks bytes [offset, offset + size) of the packed stream; returns bytes moved in
 * *moved. */
MAD_API int mad_type_pack(const void* base, uint64_t count, const mad_type* type, uint64_t offset,
                          void* out, size_t size, size_t* moved);
MAD_API int mad_type_unpack(void* base, uint64_t count, const mad_type* type, uint64_t offset,
                            const void* in, size_t size, size_t* moved);
/* Copies bytes [offset, offset + size) of the packed stream from one layout into another, without a
 * buffer between them (type NULL: bytes); returns in *moved the bytes that both have of these.  The
 * two memories must not overlap. */
MAD_API int mad_type_copy(const void* from, uint64_t from_count, const mad_type* from_type,
                          void* to, uint64_t to_count, const mad_type* to_type, uint64_t offset,
                          size_t size, size_t* moved);

/* Copies between layouts that are alike and lie side by side, as columns of a matrix that are moved
 * one by one, made together: each line of memory is met once then, not once a column.  One thread
 * at a time may use them. */
typedef struct mad_copies mad_copies;
MAD_API int mad_copies_create(mad_copies** out);
MAD_API void mad_copies_destroy(mad_copies* copies); /* what is not finished is not made */
/* Adds the copy of all bytes from one layout into another of as many, arguments as those of
 * mad_type_copy().  *taken 1: mad_copies_finish() makes it, or a call before; until then memory
 * that is read is to stay as it is, the types need not.  If two write the same memory it is not
 * said which comes last.  *taken 0: it is not of that kind, and the caller's.  Copies that it does
 * not join have been made when this returns MAD_SUCCESS. */
MAD_API int mad_copies_add(mad_copies* copies, const void* from, uint64_t from_count,
                           const mad_type* from_type, void* to, uint64_t to_count,
                           const mad_type* to_type, int* taken);
MAD_API void mad_copies_finish(mad_copies* copies);

/* MPI's external32 (MPI 4.0, 14.5.2), the representation that all machines share: big endian, IEEE
 * formats, sizes of MPI's own.  The bytes of `count` elements in it, and all of them to and from a
 * buffer of so many bytes; the type need not be committed.  MAD_ERR_TRUNCATED, with nothing done,
 * if the buffer is too small.  MAD_ERR_CONVERSION if integers do not fit their place, as a long of
 * more than 32 bits: the sentence names the first, each of them is written as 0, all others are
 * there. MAD_ERR_ARGUMENT of a type of another process. */
MAD_API int mad_type_external_size(const mad_type* type, uint64_t count, uint64_t* bytes);
MAD_API int mad_type_pack_external(const void* base, uint64_t count, const mad_type* type,
                                   void* out, size_t room, uint64_t* bytes);
MAD_API int mad_type_unpack_external(void* base, uint64_t count, const mad_type* type,
                                     const void* in, size_t size, uint64_t* bytes);

typedef struct mad_run {
  void* base;
  size_t bytes;
} mad_run;
/* Where the next bytes of `count` elements at `base` are, from the packed byte `offset` on: at most
 * `bytes`, in at most `capacity` runs.  *found is how many runs there are, 0 at the end. */
MAD_API int mad_type_runs(const void* base, uint64_t count, const mad_type* type, uint64_t offset,
                          size_t bytes, mad_run* runs, size_t capacity, size_t* found);

/* The compiled layout as bytes, for a process of any machine that runs the same version of libmad
 * (docs/program_format.md).  *size is how many they are; if that is more than `capacity`, nothing
 * is written. */
MAD_API int mad_type_serialize(const mad_type* type, void* out, size_t capacity, size_t* size);
/* The same of a part of `count` elements at address 0, as a list of its runs: of the packed bytes
 * from `offset` on as many as the list has room for in `capacity` bytes, at most `bytes` and a
 * multiple of `unit`; *covered says how many.  So a layout may travel that is too long to be
 * described at once.  MAD_ERR_ARGUMENT: there is no room for one unit. */
MAD_API int mad_type_serialize_part(const mad_type* type, uint64_t count, uint64_t offset,
                                    size_t bytes, size_t unit, void* out, size_t capacity,
                                    size_t* size, size_t* covered);
/* The type of such bytes, all of them, which may come from anyone: MAD_ERR_PROTOCOL or
 * MAD_ERR_VERSION if they are none.  It is committed and moves bytes: its signature is theirs, it
 * is never converted for another machine, and no other type can be made of it.  It takes memory in
 * proportion to its bytes.  Compare its true bounds with your memory. */
MAD_API int mad_type_deserialize(const void* bytes, size_t size, mad_type** out);

/* ---- engine ---- */

/* An operation slot: the caller embeds it in its request; libmad owns it from the call that takes
 * it to the callback (or MAD_SUCCESS) that gives it back.  What is in it is the caller's. */
typedef struct mad_op {
  void* context;
  uint64_t group; /* in: what a trace groups by, e.g. a communicator's id; read by no one else */
} mad_op;

/* By what tagged messages find their receives. */
#define MAD_ANY_SOURCE (-1)
#define MAD_ANY_TAG (-1)
typedef struct mad_envelope {
  int32_t source;   /* what the sender calls itself in this context, 0 or more; of a receive also
                       MAD_ANY_SOURCE */
  int32_t tag;      /* 0 or more; of a receive also MAD_ANY_TAG */
  uint16_t context; /* messages of one never match receives of another */
} mad_envelope;

/* What a tagged message takes along beside its envelope and its payload, as its receiver gets it.
 * What is not there costs nothing. */
typedef struct mad_extension {
  const uint64_t* note; /* two words, 16 bytes more of the message, as to say of what type it is
                           (mad_type_signature()); NULL: none */
  const void* value;    /* any bytes; read by the call that sends */
  size_t value_bytes;   /* of them, at most MAD_VALUE_MAX; 0: none */
} mad_extension;

/* A tagged message, as its receiver sees it. */
typedef struct mad_arrival {
  mad_envelope envelope;
  uint8_t flags; /* what its sender gave */
  uint8_t noted; /* whether it gave a note: */
  uint64_t note[2];
  uint64_t sent;     /* bytes of its payload; of a peer whose machine has other sizes as many as it
                        has there until it is received into a type, then as many as here */
  uint64_t received; /* bytes of it that are in place: fewer if the receive had no room for all */
  const void* value; /* what it took along: valid during the callback, or after a call until the
                        next one with this engine; NULL: nothing */
  size_t value_bytes;
} mad_arrival;

/* Callbacks run inside mad_engine_progress(), mad_engine_close() and the waiting Madeleine calls;
 * of a tagged message to oneself also inside the call that sends it (on_tagged(), of a receive that
 * waited), and inside the one that receives or discards it (on_sent(), of a send that waited).
 * They may send, receive, discard and ask; mad_engine_progress() does nothing inside them,
 * mad_engine_close() and the Madeleine calls are refused.  While the engine closes nothing new
 * starts (MAD_ERR_CLOSED). */
typedef struct mad_callbacks {
  /* A message arrived.  `header` (8-byte aligned) is valid during the call.  With payload_bytes > 0
   * the callee must call mad_recv() or mad_discard() with `incoming`, now or later; else incoming
   * is NULL. */
  void (*on_message)(void* context, mad_peer* from, uint8_t handler, void* header,
                     size_t header_bytes, uint64_t payload_bytes, mad_incoming* incoming);
  void (*on_sent)(void* context, mad_op* op, int status);
  void (*on_received)(void* context, mad_op* op, uint64_t bytes, int status);
  /* The peer is gone; its operations have been completed before.  MAD_ERR_CLOSED: it said goodbye;
   * MAD_ERR_PEER_FAILED: it died; MAD_ERR_PROTOCOL: it sent what no engine sends, or was rejected.
   */
  void (*on_peer_gone)(void* context, mad_peer* peer, int status, const char* why);
  /* A receive of a tagged message is complete; its mad_receive is no more.  `arrival` is NULL where
   * no message came: the engine closes. */
  void (*on_tagged)(void* context, mad_op* op, const mad_arrival* arrival, int status);
} mad_callbacks;

typedef struct mad_config {
  uint32_t abi_version;     /* MAD_ABI_VERSION */
  const char* fabric;       /* "auto" (shm on a host, ofi:verbs with hosts whose RDMA device works
                               as ours does, tcp with all others), "tcp", "shm", "ofi:verbs" (RDMA),
                               "ofi:PROVIDER", layers behind +, as "ofi:tcp+ofi_rxm", "ofi"
                               (= ofi:tcp), "ucx" (shared memory, RDMA or tcp),
                               "ucx:posix", "ucx:tcp", "ucx:posix,cma", "ucx:rc", "ucx:ud",
                               "loopback"; or several, as "ucx:posix;tcp": each peer is reached by the
                               first that reaches it; NULL: auto */
  const char* interface;    /* network interface, e.g. "lo", "eth0"; NULL: the fabric's choice */
  uint64_t eager_limit;     /* 0: default */
  uint64_t flush_threshold; /* bytes prepared before a packet is flushed; 0: default */
  uint64_t max_blocks;      /* runs above which AUTO does not reference; 0: no limit */
  uint64_t staging_bytes;   /* staging budget of the engine; 0: default */
  const char* costs_file; /* what `tools/mad calibrate` wrote; NULL: $XDG_CONFIG_HOME/mad/costs.json
                             or ~/.config/mad/costs.json if there is one, else built-in numbers */
  uint64_t connect_timeout; /* seconds for which attempts to connect a peer may fail for reasons
                               that may pass before it is MAD_ERR_UNREACHABLE: its host does not
                               answer, files or shared memory lack here or there.  0: for ever.  A
                               peer whose host has answered is waited for.  Default: 600 */
  int checksum;             /* not 0: payloads are sent with a CRC32C, which any receiver checks */
  uint32_t silence_ms;      /* milliseconds that a peer's host may leave what it is sent without any
                               answer, as when its cable is pulled, before the peer is gone; a peer
                               that computes or is stopped has a host that answers.  0: as long as the
                               system's TCP settings say.  Of tcp, ucx:tcp and ofi:verbs; to the
                               second where nothing is underway */
  uint32_t goodbye_ms;    /* milliseconds that mad_engine_close() waits for peers that do not look,
                             over ofi:PROVIDER and ucx:tcp, which cannot tell whether a peer's
                             host has what left, and drop what came once an answer of the peer's
                             fails.  Default: 2000 */
  uint64_t common_secret; /* the first half of the secret that those have to know who connect to the
                             engine, the other half is random.  Of engines whose addresses travel
                             together, as those of one node, it may be the same, so that they differ
                             in fewer bytes: a random number that nobody else knows.  0: a random
                             one of this engine alone */
  mad_callbacks callbacks;
  void* context; /* given to every callback */
} mad_config;

/* Fills in the caller's ABI version and defaults; callbacks are NULL.  Of a caller who was compiled
 * for another version, whose structure may be another, all is 0 but that: mad_engine_open() refuses
 * it. */
MAD_API void mad_config_fill(mad_config* config, size_t bytes, uint32_t abi_version);
static inline void mad_config_init(mad_config* config) {
  mad_config_fill(config, sizeof(*config), MAD_ABI_VERSION);
}

/* The environment variable MAD_TRACE has the engine tell of every decision, with predicted times,
 * and write a summary when it closes.  Its value: a file to append to (%p in it: the process's id),
 * or "-" or "stderr".  A file that cannot be written costs a line on stderr and nothing else. */
/* Raises the process's soft limit of open files to the hard one. */
MAD_API int mad_engine_open(const mad_config* config, mad_engine** out);
/* Flushes, says goodbye to connected peers (waits at most 2 s, or goodbye_ms) and frees everything.
 */
MAD_API void mad_engine_close(mad_engine* engine);
/* In a child of fork(), e.g. of pthread_atfork(): closes the sockets of the engine that the child
 * inherited, else peers do not see the parent's end before the child's.  The engine is the
 * parent's: the child may not use it afterwards, nor close it.  Safe whatever other threads of the
 * parent were doing.  Sockets of "ofi:PROVIDER" are closed with ofi:tcp only. */
MAD_API void mad_engine_after_fork(mad_engine* engine);
MAD_API const char* mad_engine_fabric(const mad_engine* engine); /* e.g. "ucx:posix;tcp" */

/* The names of the fabrics this library was built with, e.g. "tcp, ofi:tcp,
 * ofi:PROVIDER, ucx, loopback". */
MAD_API const char* mad_fabric_names(void);

/* This engine's address; *size is the room and becomes the length (<= MAD_ADDRESS_MAX). */
MAD_API int mad_engine_address(const mad_engine* engine, void* address, size_t* size);

/* The names of the fabrics that an address is on, e.g. "ucx:posix;tcp"; `room` bytes for them. */
MAD_API int mad_address_fabrics(const void* address, size_t size, char* names, size_t room);

/* The peer at `address`; the engine's own address gives the peer for sends to self.  The same
 * address gives the same peer until that is gone, then a new one: whoever is there now is another
 * engine.  Nothing travels yet. */
MAD_API int mad_engine_peer(mad_engine* engine, const void* address, size_t size, mad_peer** out);
MAD_API void mad_peer_set_context(mad_peer* peer, void* context);
MAD_API void* mad_peer_context(const mad_peer* peer);
/* The peer's own address. */
MAD_API int mad_peer_address(const mad_peer* peer, void* address, size_t* size);
/* 1: the peer, which may be gone, is or was the engine at this address; 0: another one. */
MAD_API int mad_peer_is_at(const mad_peer* peer, const void* address, size_t size);
/* Connects now if not yet connected, so that the peer's death is noticed. */
MAD_API int mad_peer_touch(mad_engine* engine, mad_peer* peer);
/* Ends the connection of a peer that sent what the caller's own protocol does not have: as if it
 * had broken libmad's, its operations and on_peer_gone() come with MAD_ERR_PROTOCOL, the latter
 * with `why`.  Allowed in on_message(), whose `incoming` is received or discarded all the same.
 * Nothing happens to a peer that is gone. */
MAD_API int mad_peer_reject(mad_engine* engine, mad_peer* peer, const char* why);
/* MAD_SUCCESS while alive or never contacted; else the status it went with, from then on. */
MAD_API int mad_peer_status(const mad_peer* peer);

/* The fabric that the peer is reached by, or, before anything came from it, tried by; "loopback"
 * for the engine itself; "" once it is gone, for another engine's, and in mad_engine_close(). */
MAD_API const char* mad_peer_fabric(const mad_engine* engine, const mad_peer* peer);

/* The caller names a peer that is gone no more: its record is freed (else with the engine).
 * Allowed in on_peer_gone().  MAD_ERR_ARGUMENT: it is not gone. */
MAD_API int mad_peer_release(mad_engine* engine, mad_peer* peer);

/* Advances everything; never blocks.  *events (may be NULL) counts what happened. */
MAD_API int mad_engine_progress(mad_engine* engine, int* events);
/* Sleeps until mad_engine_progress() may have something to do, at most `microseconds` and perhaps
 * less; a moment where the fabric cannot tell. */
MAD_API int mad_engine_wait(mad_engine* engine, uint32_t microseconds);
/* Nothing accepted is still waiting to leave. */
MAD_API int mad_engine_idle(const mad_engine* engine);
/* Nothing waits for a turn or a connection: what still waits to leave does so for its receiver's
 * word. */
MAD_API int mad_engine_flushed(const mad_engine* engine);
/* The hosts of all peers have what left, as far as the fabrics can tell (tcp can; what is in shared
 * memory is there): peers get it, also those that look when this process is gone. */
MAD_API int mad_engine_arrived(const mad_engine* engine);

MAD_API size_t mad_max_header_bytes(const mad_engine* engine);

/* Sends a header that nobody waits for; it is copied.  Handlers are 0 to 253.  In order with
 * mad_send().  What cannot leave yet waits in libmad's memory, so the caller bounds how many there
 * are: mad_send() without payload is told when it left. */
MAD_API int mad_send_header(mad_engine* engine, mad_peer* peer, uint8_t handler, const void* header,
                            size_t header_bytes);

/* Sends a header (copied) and `count` elements of `type` at `base` (type NULL: bytes), of which
 * there may be none.  `path` is latched. MAD_SUCCESS: done, memory and slot are free, no callback;
 * all has left this process, and reaches a peer that looks though this engine makes no progress any
 * more.  MAD_IN_PROGRESS: on_sent() follows when that is so. */
MAD_API int mad_send(mad_engine* engine, mad_peer* peer, uint8_t handler, const void* header,
                     size_t header_bytes, const void* base, uint64_t count, const mad_type* type,
                     mad_path path, mad_op* op);

/* As mad_send(), of one of many messages: a small one may wait for the next mad_engine_progress(),
 * to leave with others. */
MAD_API int mad_send_soon(mad_engine* engine, mad_peer* peer, uint8_t handler, const void* header,
                          size_t header_bytes, const void* base, uint64_t count,
                          const mad_type* type, mad_path path, mad_op* op);

/* Receives an incoming payload into `count` elements of `type` at `base`; what comes from a machine
 * that represents data otherwise is converted, but bytes (type NULL) and the kinds BYTE and PACKED.
 * All lengths told are then this machine's, but what on_message() announces.  What does not fit is
 * dropped and the callback's `bytes` are what fitted.  MAD_SUCCESS: done, *received has the bytes,
 * no callback. MAD_IN_PROGRESS: on_received() follows.  Takes `incoming` in any case: after an
 * error it is discarded.  MAD_ERR_CORRUPT, here or in the callback: the bytes at `base` are not
 * those that were sent; the peer and its other messages are not concerned. */
MAD_API int mad_recv(mad_engine* engine, mad_incoming* incoming, void* base, uint64_t count,
                     const mad_type* type, mad_path path, mad_op* op, uint64_t* received);
MAD_API void mad_discard(mad_engine* engine, mad_incoming* incoming);

/* ---- one-sided ---- */

/* Memory that peers put to and get from while this process does nothing: where one of its fabrics
 * can, as those of RDMA devices.  Who accesses what is not shared loses its own connection. */
typedef struct mad_region mad_region;
/* What a peer has to know of it; travels by value. */
typedef struct mad_region_key {
  uint64_t address, key;
  char fabric[24]; /* by which it is reached; empty: by none */
} mad_region_key;

/* Shares `bytes` bytes (> 0) with all peers, and has the fabric lock them in memory where it has
 * to. MAD_NOT_NOW: no fabric of the engine shares memory, or what it sends has checksums;
 * MAD_ERR_MEMORY: it cannot be locked. */
MAD_API int mad_region_share(mad_engine* engine, void* base, size_t bytes, mad_region** out);
MAD_API void mad_region_get_key(const mad_region* region, mad_region_key* out);
/* When no peer accesses it any more; what is shared when the engine is closed goes with it. */
MAD_API void mad_region_unshare(mad_engine* engine, mad_region* region);

/* Writes `bytes` bytes (> 0) at `offset` of memory that the peer shares, or reads them from there,
 * in no order with anything else.  MAD_IN_PROGRESS: on_sent() follows when they are there, for all
 * who read that memory, or here.  MAD_NOT_NOW: nothing was done, as the peer is not connected yet,
 * or by another fabric, or represents data otherwise, or as what this engine sends has checksums.
 * The caller sees to it that they are within what is shared. */
MAD_API int mad_put(mad_engine* engine, mad_peer* peer, const mad_region_key* region,
                    uint64_t offset, const void* from, size_t bytes, mad_op* op);
MAD_API int mad_get(mad_engine* engine, mad_peer* peer, const mad_region_key* region,
                    uint64_t offset, void* to, size_t bytes, mad_op* op);

/* ---- start-up data ---- */

/* What the processes of a job have to know of each other before they can talk, as their addresses:
 * each sends its own data and that of its node, by name, and reads that of others when it first
 * needs it.  It travels by whatever started the job, in as few bytes as it takes: what is the same
 * for all processes of a node goes once. */
typedef struct mad_modex mad_modex;

#define MAD_MODEX_BYTES 512 /* of all that one process sends, 5 or 6 more for each name */

/* What started the job.  The functions return 0, or anything else for an error. */
typedef struct mad_launcher {
  void* context;
  size_t value_length; /* characters of a value, at most */
  /* Tells the value to all who get() the key when everybody has been in fence().  A key is put
   * once. */
  int (*put)(void* context, const char* key, const char* value);
  /* What the process `rank` put; `room` bytes for it and its end, more than value_length. */
  int (*get)(void* context, int rank, const char* key, char* value, size_t room);
  /* Waits for all processes of the job. */
  int (*fence)(void* context);
  /* Waits for all processes of the node, each of which gives `bytes` bytes, the same number: `all`
   * gets those of all in the order of their ranks. */
  int (*gather)(void* context, const void* own, size_t bytes, void* all);
} mad_launcher;

typedef struct mad_modex_config {
  int rank;         /* of this process */
  int size;         /* processes of the job */
  const int* nodes; /* of each the number of its node, 0 or more; they live as long as the modex */
  uint32_t epoch;   /* tells this exchange from earlier ones of the same processes */
  mad_launcher launcher;
} mad_modex_config;

MAD_API int mad_modex_open(const mad_modex_config* config, mad_modex** out);
MAD_API void mad_modex_close(mad_modex* modex);

/* The hash that stands for a name.  MAD_ERR_ARGUMENT: it is that of another name, too, that was
 * registered here. */
MAD_API int mad_modex_register(mad_modex* modex, const char* name, uint32_t* hash);

/* Sends data of this process, or of its node, of which one process does so: if several do, one of
 * them wins, that of the highest rank.  What it sent by the same name before is replaced.  It
 * leaves with mad_modex_exchange(), which all processes call once. */
MAD_API int mad_modex_proc_send(mad_modex* modex, uint32_t name, const void* data, size_t size);
MAD_API int mad_modex_node_send(mad_modex* modex, uint32_t name, const void* data, size_t size);
MAD_API int mad_modex_exchange(mad_modex* modex);

/* Receives what the process `rank` sent, or the winner of its node; *size is the room and becomes
 * the length.  MAD_ERR_NOT_FOUND: there is none; MAD_ERR_PROTOCOL: what is there is no start-up
 * data; MAD_ERR_INTERNAL: the launcher failed. */
MAD_API int mad_modex_proc_receive(mad_modex* modex, int rank, uint32_t name, void* data,
                                   size_t* size);
MAD_API int mad_modex_node_receive(mad_modex* modex, int rank, uint32_t name, void* data,
                                   size_t* size);

/* *all: 1 if `agree` says so of any two values that processes sent by the name, in which one that
 * was not sent has no bytes, and of each with itself; else 0.  All processes call it, after the
 * exchange; each reads what about the square root of the number of nodes told. */
typedef int (*mad_modex_agreement)(const void* one, size_t one_size, const void* other,
                                   size_t other_size);
MAD_API int mad_modex_agree(mad_modex* modex, uint32_t name, mad_modex_agreement agree, int* all);

/* ---- memory of other processes ---- */

/* The memory of a process of this host, by the kernel, whatever that process does: both need the
 * same user and leave to trace each other.  These functions may be called by several threads. */
typedef struct mad_memory mad_memory;

/* By what others open a process's memory: its number, and a word there that nobody guesses. */
typedef struct mad_process {
  uint64_t pid;
  uint64_t address; /* of the word */
  uint64_t word;
} mad_process;

/* This process.  Writes a random word to *word, to stand there as it is as long as others may open
 * this process's memory. */
MAD_API int mad_process_self(uint64_t* word, mad_process* out);

/* Opens the memory of a process, to be read and written; takes a file descriptor.  What is open is
 * of that process alone: after its end, or that of its program, nothing is read or written, also if
 * another has its number.  MAD_ERR_PEER_FAILED: it cannot be, or is not the process that is named.
 */
MAD_API int mad_memory_open(const mad_process* process, mad_memory** out);
MAD_API void mad_memory_close(mad_memory* memory);

/* Copies what is at `address` there to as many bytes here, or those to there: at most
 * MAD_MEMORY_RUNS runs.  MAD_ERR_PEER_FAILED: not all of it could be; where it was to go may hold
 * anything. */
#define MAD_MEMORY_RUNS 64
MAD_API int mad_memory_read(const mad_memory* memory, uint64_t address, const mad_run* places,
                            size_t count);
MAD_API int mad_memory_write(const mad_memory* memory, uint64_t address, const mad_run* runs,
                             size_t count);

/* ---- tagged messages ---- */

/* Messages that find their receives by envelope, as MPI has it: of the receives that take a message
 * it goes to the one that was posted first; of the messages that a receive takes it gets the one
 * that arrived first, and of one peer's messages the one that was sent first.  Both are found by
 * hash, however many wait.  In order with each other, and with mad_send(), which one to oneself may
 * overtake.
 *
 * One to oneself does not travel: it is matched by the call that sends it, and copied from the one
 * layout to the other, whatever the paths.  Where no receive waits, a copy of a short one is kept;
 * beyond the eager limit, and beyond 256 KiB of them, the send waits for its receive instead. */

/* For `flags`, of which the low 8 bits are the caller's and travel along: the message has not left
 * before a receive has taken it. */
#define MAD_SYNCHRONOUS 0x100u

/* Sends `count` elements as mad_send() does.  `extension`: what travels along; NULL: nothing.  `op`
 * NULL: only if that can be done at once, without an operation; else MAD_NOT_NOW. */
MAD_API int mad_tagged_send(mad_engine* engine, mad_peer* peer, const mad_envelope* envelope,
                            uint32_t flags, const mad_extension* extension, const void* base,
                            uint64_t count, const mad_type* type, mad_path path, mad_op* op);
/* The short way of most messages: sends `count` elements, by MAD_PATH_AUTO, with what travels along
 * or NULL, if all of them can leave at once in one packet, or be received or kept by the
 * engine itself.  MAD_NOT_NOW: nothing was done, and mad_tagged_send() sends them, or says what is
 * wrong. */
MAD_API int mad_tagged_send_short(mad_peer* peer, const mad_envelope* envelope, uint32_t flags,
                                  const mad_extension* extension, const void* base, uint64_t count,
                                  const mad_type* type);
/* The same for `bytes` bytes that are not in memory yet: if they can leave, `write` is called,
 * and writes all of them to `out`, which may have any alignment.  It is not to call libmad.
 * MAD_NOT_NOW: they have not left, though it may have been called; always for a message to oneself.
 */
typedef void (*mad_writer)(const void* context, void* out);
MAD_API int mad_tagged_send_written(mad_peer* peer, const mad_envelope* envelope, uint32_t flags,
                                    const mad_extension* extension, uint64_t bytes,
                                    mad_writer write, const void* context);
/* For mad_tagged_receive_short() and mad_tagged_probe_next(): the caller does nothing but wait for
 * the message, so that it is looked for during a microsecond or two; for the first: it is not to be
 * shorter than the memory. */
#define MAD_WAITS 1u
#define MAD_WHOLE 2u

/* The short way of most receives: receives the next message of a peer, or with `from` NULL of whose
 * message is found first, by MAD_PATH_AUTO, if that is here, `wanted` matches it, and neither a
 * receive that was posted nor a message that came earlier goes before.  It is one that came in one
 * packet, or contiguous payload that is read in its sender's memory, without flags and without a
 * note, not longer than `count` bytes, or of as many as `count` elements of a type have.  `how`: 0,
 * MAD_WAITS, MAD_WHOLE or both. MAD_NOT_NOW: it was not received, as it never is inside a callback;
 * the memory may hold anything, and mad_tagged_receive() receives it, or says what is wrong. */
MAD_API int mad_tagged_receive_short(mad_engine* engine, mad_peer* from, const mad_envelope* wanted,
                                     void* base, uint64_t count, const mad_type* type, uint32_t how,
                                     mad_arrival* arrival);
/* Whether the peer has granted what a message of `bytes` needs to leave at once, but has not yet
 * said that it took enough of what was sent before; mad_engine_progress() may bring that.  1 or 0;
 * 0 in mad_engine_close(). */
MAD_API int mad_peer_is_full(const mad_peer* peer, uint64_t bytes);
/* Receives the message that `wanted` matches, now or when it comes; memory and path as mad_recv().
 * MAD_SUCCESS: done, *arrival says what.  MAD_IN_PROGRESS: on_tagged() follows; until then
 * *receive names it.  An error of a message that was matched, which is gone: *arrival says which.
 */
MAD_API int mad_tagged_receive(mad_engine* engine, const mad_envelope* wanted, void* base,
                               uint64_t count, const mad_type* type, mad_path path, mad_op* op,
                               mad_receive** receive, mad_arrival* arrival);
/* MAD_SUCCESS: the receive is no more, no callback.  MAD_NOT_NOW: it has its message. */
MAD_API int mad_tagged_cancel(mad_engine* engine, mad_receive* receive);
/* Whether a message that `wanted` matches waits: MAD_SUCCESS and *arrival, or MAD_NOT_NOW. */
MAD_API int mad_tagged_probe(mad_engine* engine, const mad_envelope* wanted, mad_arrival* arrival);
/* The same, and also of the next message of a peer, or with `from` NULL of the one that is found
 * first, if no receive that was posted takes it: that stays where it arrived, for
 * mad_tagged_receive_short().  `how`: 0 or MAD_WAITS.  May make progress. */
MAD_API int mad_tagged_probe_next(mad_engine* engine, mad_peer* from, const mad_envelope* wanted,
                                  uint32_t how, mad_arrival* arrival);
/* As mad_tagged_probe(), also of what mad_tagged_probe_next() has shown, and takes it out of those
 * that wait: it must be received or discarded.  May make progress. */
MAD_API int mad_tagged_claim(mad_engine* engine, const mad_envelope* wanted, mad_arrival* arrival,
                             mad_message** message);
/* Receives a claimed message, whatever it returns; as mad_tagged_receive(). */
MAD_API int mad_message_receive(mad_engine* engine, mad_message* message, void* base,
                                uint64_t count, const mad_type* type, mad_path path, mad_op* op,
                                mad_receive** receive, mad_arrival* arrival);
MAD_API void mad_message_discard(mad_engine* engine, mad_message* message);
/* Calls `each` for every receive that waits for its message, in no order; it may cancel that one
 * and nothing else. */
MAD_API int mad_tagged_each(mad_engine* engine,
                            void (*each)(void* context, mad_receive* receive, mad_op* op),
                            void* context);

/* Counters since open; read them any time.  Those by path, and `headers`, count the messages of
 * mad_send(), mad_recv() and mad_send_header(), and tagged ones, but not those to oneself.
 * Madeleine messages are not among them, since each of their pieces is planned by itself and short
 * ones travel together; the counters of packets and bytes below have everything that travels: these
 * messages, those of Madeleine and libmad's own frames. */
typedef struct mad_counters {
  uint64_t sends[MAD_PATH_COUNT]; /* messages with payload, by the path taken; AUTO: contiguous */
  uint64_t send_bytes[MAD_PATH_COUNT];
  uint64_t recvs[MAD_PATH_COUNT];
  uint64_t recv_bytes[MAD_PATH_COUNT];
  uint64_t headers; /* messages without payload sent */
  uint64_t packets_sent;
  uint64_t packets_received;
  uint64_t staged_bytes;     /* payload copied into packets on its way out */
  uint64_t referenced_bytes; /* payload gathered from user memory */
  uint64_t written_bytes;    /* of both, placed by remote writes; and what was got */
  uint64_t unexpected_bytes; /* payload kept for messages nobody waited for */
  uint64_t checked_bytes;    /* payload received with a checksum */
  uint64_t waiting_receives; /* now: of tagged messages */
  uint64_t waiting_messages; /* now: tagged ones that nobody has asked for */
  uint64_t self_messages; /* tagged ones to oneself that were received, with payload or without */
  uint64_t self_bytes;    /* of their payload, copied */
} mad_counters;
MAD_API const mad_counters* mad_engine_counters(mad_engine* engine);

/* What one of the engine's fabrics carried since open: messages, Madeleine's and libmad's own
 * frames. */
typedef struct mad_fabric_counters {
  const char* name;
  uint64_t packets_sent;
  uint64_t bytes_sent; /* with what was written remotely */
  uint64_t packets_received;
  uint64_t bytes_received; /* without what peers wrote remotely */
} mad_fabric_counters;
/* Of fabric `number` (0 ...) of the engine's list.  MAD_ERR_ARGUMENT: it has fewer. */
MAD_API int mad_engine_fabric_counters(const mad_engine* engine, int number,
                                       mad_fabric_counters* out);

/* ---- Madeleine ---- */

/* RT-0306's interface.  A message is built from pieces and taken apart by the mirrored sequence of
 * calls. Every call progresses the engine as needed; callbacks of other messages may run inside. Do
 * not mix with handler 255, which carries these messages. */
typedef enum mad_send_mode {
  MAD_SEND_SAFER = 0, /* the memory may be reused when mad_pack() returns */
  MAD_SEND_LATER,     /* the memory is read at mad_end_packing(), not before */
  MAD_SEND_CHEAPER    /* libmad's choice; leave the memory alone until mad_end_packing() returns */
} mad_send_mode;
typedef enum mad_recv_mode {
  MAD_RECV_EXPRESS = 0, /* the bytes are there when mad_unpack() returns */
  MAD_RECV_CHEAPER      /* the bytes are there when mad_end_unpacking() returns */
} mad_recv_mode;

typedef struct mad_packing mad_packing;
typedef struct mad_unpacking mad_unpacking;

MAD_API int mad_begin_packing(mad_engine* engine, mad_peer* peer, mad_packing** out);
MAD_API int mad_pack(mad_packing* session, const void* data, size_t size, mad_send_mode send_mode,
                     mad_recv_mode recv_mode);
/* The extended pack: a whole described datum in one call. */
MAD_API int mad_pack_layout(mad_packing* session, const void* base, uint64_t count,
                            const mad_type* type, mad_send_mode send_mode, mad_recv_mode recv_mode);
MAD_API int mad_end_packing(mad_packing* session); /* frees the session, also on error */

/* Waits for the next Madeleine message from anyone, at most timeout_ms (< 0: for ever;
 * MAD_IN_PROGRESS: none came). */
MAD_API int mad_begin_unpacking(mad_engine* engine, int timeout_ms, mad_peer** from,
                                mad_unpacking** out);
MAD_API int mad_unpack(mad_unpacking* session, void* data, size_t size, mad_send_mode send_mode,
                       mad_recv_mode recv_mode);
MAD_API int mad_unpack_layout(mad_unpacking* session, void* base, uint64_t count,
                              const mad_type* type, mad_send_mode send_mode,
                              mad_recv_mode recv_mode);
MAD_API int mad_end_unpacking(mad_unpacking* session); /* frees the session, also on error */

#ifdef __cplusplus
}
#endif

#endif /* MAD_H */
