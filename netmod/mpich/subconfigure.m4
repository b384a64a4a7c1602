[#] start of __file__
dnl MPICH_SUBCFG_AFTER=src/mpid/ch4

dnl Selected by --with-device=ch4:mad.  Locality information is built here too because MPICH leaves it out
dnl when its own shared memory is off.
AC_DEFUN([PAC_SUBCFG_PREREQ_]PAC_SUBCFG_AUTO_SUFFIX,[
    AM_COND_IF([BUILD_CH4],[
        for net in $ch4_netmods ; do
            if test "$net" = "mad" ; then
                build_ch4_netmod_mad=yes
                AC_DEFINE(HAVE_CH4_NETMOD_MAD,1,[mad netmod is built])
                if test "$build_ch4_locality_info" != "yes" ; then
                    AC_DEFINE(MPIDI_BUILD_CH4_LOCALITY_INFO,1,[CH4 should build locality info])
                    build_ch4_locality_info="yes"
                fi
            fi
        done
    ])
    AM_CONDITIONAL([BUILD_CH4_NETMOD_MAD],[test "X$build_ch4_netmod_mad" = "Xyes"])
])dnl

AC_DEFUN([PAC_SUBCFG_BODY_]PAC_SUBCFG_AUTO_SUFFIX,[
AM_COND_IF([BUILD_CH4_NETMOD_MAD],[
    AC_MSG_NOTICE([RUNNING CONFIGURE FOR ch4:mad])

    dnl libmad is used where it is installed: --with-mad=PREFIX, or --with-mad-include= and --with-mad-lib=.
    dnl The run path lets libmpi and every program find it without an environment variable.
    PAC_CHECK_HEADER_LIB_FATAL([mad],[mad.h],[mad],[mad_engine_open])
    mad_rpath="${with_mad_lib}"
    if test -z "$mad_rpath" -a -n "$with_mad" -a "$with_mad" != "yes" ; then
        mad_rpath="${with_mad}/lib"
    fi
    if test -n "$mad_rpath" ; then
        PAC_APPEND_FLAG([-Wl,-rpath,${mad_rpath}],[LDFLAGS])
    fi

    dnl The counters of this device are part of it; they cost nothing when nobody reads them.
    AC_DEFINE(ENABLE_PVAR_MAD,1,[Define to 1 to have the performance variables of the mad netmod])
])dnl end AM_COND_IF(BUILD_CH4_NETMOD_MAD,...)
])dnl end _BODY

[#] end of __file__
