/* mad_pmi.h: what started the processes, as MPICH asks it.
 *
 * MPICH is built for PMI-1, which mpiexec speaks and Slurm's plugin pmi2 answers.  Launchers that
 * speak PMIx (Slurm's plugin pmix, PRRTE, Open MPI's mpirun) are asked by libmad_pmix.so, which has
 * the same functions over libpmix and is loaded where the environment says that PMIx started this
 * process.  Included by that library, too: no header of MPICH's here.
 */
#ifndef MAD_PMI_H_INCLUDED
#define MAD_PMI_H_INCLUDED

#ifdef __cplusplus
extern "C" {
#endif

/* All functions return 0, or -1; lengths are in bytes and have room for the end of the text. */
typedef struct mad_pmi {
  int (*init)(int* has_parent);
  int (*finalize)(void);
  int (*abort)(int exit_code, const char* why);
  int (*get_rank)(int* rank);
  int (*get_size)(int* size);
  int (*get_appnum)(int* appnum);
  int (*get_universe_size)(int* size);
  int (*kvs_get_name_length_max)(int* length);
  int (*kvs_get_my_name)(char* name, int length);
  int (*kvs_get_key_length_max)(int* length);
  int (*kvs_get_value_length_max)(int* length);
  int (*kvs_put)(const char* kvs, const char* key, const char* value);
  int (*kvs_commit)(const char* kvs);
  /* What `rank` put before the last barrier; -1: whoever put it. */
  int (*kvs_get)(const char* kvs, int rank, const char* key, char* value, int length);
  int (*barrier)(void);
  int (*publish_name)(const char* service, const char* port);
  int (*lookup_name)(const char* service, char* port);
  int (*unpublish_name)(const char* service);
} mad_pmi;

/* By this name libmad_pmix.so exports a function without arguments that returns its table. */
#define MAD_PMIX_FUNCTION "mad_pmix"
typedef const mad_pmi* mad_get_pmi(void);

/* That of what started this process; the first call chooses it. */
const mad_pmi* MPIDI_MAD_pmi(void);

#ifdef __cplusplus
}
#endif

#endif /* MAD_PMI_H_INCLUDED */
