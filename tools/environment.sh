# Sourced by quickstart.sh and run_tests.sh: a virtual environment in .venv/.
#
# use_environment STACK installs the requirements of STACK (onedl or openmmlab)
# and of the tests, once, and activates the result. The environment is built
# again when the requirements change.

use_environment() {
    local stack=$1 main tests=requirements/tests.txt key venv
    case $stack in
        onedl) main=requirements.txt ;;
        openmmlab) main=requirements/openmmlab.txt ;;
        *)
            echo "unknown stack '$stack': choose onedl or openmmlab" >&2
            return 2
            ;;
    esac
    key=$(cat "$main" "$tests" setup.cfg | cksum | cut -d ' ' -f 1)
    venv=.venv/$stack
    if [ "$(cat "$venv/key" 2>/dev/null)" != "$key" ]; then
        echo "building $venv (about two minutes) ..."
        rm -rf "$venv"
        "${PYTHON:-python3}" -m venv "$venv"
        # Errors only: pip warns of every folder that holds no package.
        "$venv/bin/pip" install -qq --disable-pip-version-check \
            -r "$main" -r "$tests"
        "$venv/bin/pip" install -qq --disable-pip-version-check \
            --no-deps --editable .
        echo "$key" > "$venv/key"
    fi
    # shellcheck disable=SC1091
    . "$venv/bin/activate"
}
