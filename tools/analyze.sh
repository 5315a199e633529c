#!/bin/sh
# clang-tidy over src with a list of checks in which every one has found, or would have found, a bug of this kind of
# program. A finding is a failure.
#
#     tools/analyze.sh BUILD [FILE…]
set -eu

build=${1:?usage: tools/analyze.sh BUILD [FILE…]}
shift
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- src/*/*.c

checks='-*,clang-analyzer-*'
# memcpy and snprintf with checked sizes are this project's own rule; the checker asks for Annex K, which libc lacks.
checks="$checks,-clang-analyzer-security.insecureAPI.DeprecatedOrUnsafeBufferHandling"
# It does not know that errno is positive after a failed call, and so follows `return -errno` as a success whose outputs
# were never set. gcc's -Wmaybe-uninitialized and the sanitizers look for the same.
checks="$checks,-clang-analyzer-core.CallAndMessage,-clang-analyzer-core.uninitialized.*"
checks="$checks,-clang-analyzer-optin.portability.UnixAPI"
checks="$checks,bugprone-*,-bugprone-sizeof-expression,-bugprone-easily-swappable-parameters,-bugprone-reserved-identifier"
checks="$checks,-bugprone-assignment-in-if-condition,-bugprone-branch-clone,-bugprone-narrowing-conversions"
checks="$checks,-bugprone-implicit-widening-of-multiplication-result,-bugprone-macro-parentheses"
checks="$checks,-bugprone-multi-level-implicit-pointer-conversion,-bugprone-suspicious-include"
checks="$checks,-bugprone-switch-missing-default-case,-bugprone-signal-handler,-bugprone-suspicious-string-compare"
# clang 14 takes every va_start for missing.
checks="$checks,-clang-analyzer-valist.Uninitialized"
checks="$checks,cert-flp30-c,cert-msc30-c,cert-env33-c"
checks="$checks,android-cloexec-*,-android-cloexec-dup,-android-cloexec-fopen"
checks="$checks,misc-redundant-expression,misc-misplaced-const,readability-misleading-indentation"
checks="$checks,performance-*,-performance-enum-size"

failed=0
for file; do
    clang-tidy --quiet -p "$build" --checks="$checks" --warnings-as-errors='*' "$file" 2>/dev/null || failed=1
done
exit $failed
