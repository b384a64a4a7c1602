"""Headers that GCC has read once for all tests: with sanitizers that is a quarter of compiling one."""

def _precompiled_impl(ctx):
    toolchain = ctx.attr._cc_toolchain[cc_common.CcToolchainInfo]
    features = cc_common.configure_features(ctx = ctx, cc_toolchain = toolchain)
    deps = cc_common.merge_cc_infos(cc_infos = [dep[CcInfo] for dep in ctx.attr.deps])
    context = deps.compilation_context

    header = ctx.actions.declare_file(ctx.label.name + ".h")
    lines = ["#ifndef PRECOMPILED_H_", "#define PRECOMPILED_H_"]  # .bazelrc may name it more than once
    lines += ["#include <%s>" % name for name in ctx.attr.includes] + ["#endif", ""]
    ctx.actions.write(header, "\n".join(lines))
    precompiled = ctx.actions.declare_file(ctx.label.name + ".h.gch")
    variables = cc_common.create_compile_variables(
        feature_configuration = features,
        cc_toolchain = toolchain,
        user_compile_flags = ctx.fragments.cpp.copts + ctx.fragments.cpp.cxxopts + ctx.attr.copts,
        system_include_directories = depset(transitive = [context.includes, context.system_includes]),
        use_pic = True,
    )
    flags = cc_common.get_memory_inefficient_command_line(
        feature_configuration = features,
        action_name = "c++-compile",
        variables = variables,
    )
    ctx.actions.run(
        executable = cc_common.get_tool_for_action(feature_configuration = features, action_name = "c++-compile"),
        arguments = flags + ["-x", "c++-header", header.path, "-o", precompiled.path],
        inputs = depset([header], transitive = [context.headers, toolchain.all_files]),
        outputs = [precompiled],
        mnemonic = "CppPrecompile",
    )
    own = cc_common.create_compilation_context(headers = depset([header, precompiled]))
    return [cc_common.merge_cc_infos(direct_cc_infos = [CcInfo(compilation_context = own)], cc_infos = [deps])]

precompiled = rule(
    implementation = _precompiled_impl,
    attrs = {
        "includes": attr.string_list(),
        "copts": attr.string_list(),  # those of --per_file_copt for the files that use it
        "deps": attr.label_list(providers = [CcInfo]),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
    fragments = ["cpp"],
)
