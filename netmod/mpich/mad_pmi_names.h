/* mad_pmi_names.h: PMI-1's names, by which MPICH asks the launcher that mad_pmi.h chooses.
 *
 * Included, after PMI's own header, by those of MPICH's files that call it.
 */
#ifndef MAD_PMI_NAMES_H_INCLUDED
#define MAD_PMI_NAMES_H_INCLUDED

#include "mad_pmi.h"

/* A process that was finalized is refused, with a line that says why. */
int MPIDI_MAD_pmi_init(int* has_parent);
int MPIDI_MAD_pmi_finalize(void);

/* Processes that a PMIx launcher started, or nobody, spawn none: an MPI error, and such a line. */
int MPIDI_MAD_spawn_multiple(int count, const char** commands, const char*** arguments,
                             const int* processes, const int* info_counts,
                             const PMI_keyval_t** infos, int put_count, const PMI_keyval_t* put,
                             int* errors);

#define PMI_Init MPIDI_MAD_pmi_init
#define PMI_Finalize MPIDI_MAD_pmi_finalize
#define PMI_Abort MPIDI_MAD_pmi()->abort
#define PMI_Get_rank MPIDI_MAD_pmi()->get_rank
#define PMI_Get_size MPIDI_MAD_pmi()->get_size
#define PMI_Get_appnum MPIDI_MAD_pmi()->get_appnum
#define PMI_Get_universe_size MPIDI_MAD_pmi()->get_universe_size
#define PMI_KVS_Get_name_length_max MPIDI_MAD_pmi()->kvs_get_name_length_max
#define PMI_KVS_Get_my_name MPIDI_MAD_pmi()->kvs_get_my_name
#define PMI_KVS_Get_key_length_max MPIDI_MAD_pmi()->kvs_get_key_length_max
#define PMI_KVS_Get_value_length_max MPIDI_MAD_pmi()->kvs_get_value_length_max
#define PMI_KVS_Put MPIDI_MAD_pmi()->kvs_put
#define PMI_KVS_Commit MPIDI_MAD_pmi()->kvs_commit
#define PMI_KVS_Get(kvs, key, value, length) MPIDI_MAD_pmi()->kvs_get(kvs, -1, key, value, length)
#define PMI_Barrier MPIDI_MAD_pmi()->barrier
#define PMI_Publish_name MPIDI_MAD_pmi()->publish_name
#define PMI_Lookup_name MPIDI_MAD_pmi()->lookup_name
#define PMI_Unpublish_name MPIDI_MAD_pmi()->unpublish_name
#define PMI_Spawn_multiple MPIDI_MAD_spawn_multiple

#endif /* MAD_PMI_NAMES_H_INCLUDED */
