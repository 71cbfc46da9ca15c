"""A module has its tests in the file of the same name, and the other way."""

from helpers import REPO, TESTS

PACKAGE = REPO / 'mmseg_rbc'
# One line.
WITHOUT_TESTS = {'version.py'}
# Tests of whole runs, of files that are no modules, of properties that
# several modules share, and of tools.
OF_NO_MODULE = {
    'test_combinations.py',
    'test_accumulation.py',
    'test_configs.py',
    'test_demo.py',
    'test_docs.py',
    'test_end_to_end.py',
    'test_faults.py',
    'test_kill.py',
    'test_layout.py',
    'test_loss_costs.py',
    'test_machines.py',
    'test_methods.py',
    'test_model_index.py',
    'test_network_table.py',
    'test_networks.py',
    'test_no_background.py',
    'test_processes.py',
    'test_reads.py',
    'test_shares.py',
    'properties/test_crops.py',
    'properties/test_distances.py',
    'properties/test_finite.py',
    'properties/test_labels.py',
    'properties/test_pixel_losses.py',
    'properties/test_regularizers.py',
    'properties/test_segmentor.py',
    'properties/test_splits.py',
    'properties/test_tasks.py',
    'properties/test_thresholds.py',
    'security/test_embedded_configs.py',
    'security/test_other_files.py',
    'security/test_pickles.py',
    'test_soak.py',
    'test_start_up.py',
    'tools/test_add_classes.py',
    'tools/test_bad_input.py',
    'tools/test_data_tools.py',
    'tools/test_new_config.py',
    'tools/test_result_tools.py',
    'tools/test_run_benchmark.py',
    'tools/test_train_tools.py',
}


def test_tests_mirror_the_package():
    modules = [
        path.relative_to(PACKAGE)
        for path in PACKAGE.rglob('*.py')
        if path.name != '__init__.py'
    ]
    assert len(modules) > 40
    wanted = {
        path.with_name(f'test_{path.name}').as_posix()
        for path in modules
        if path.as_posix() not in WITHOUT_TESTS
    }
    found = {
        path.relative_to(TESTS).as_posix() for path in TESTS.rglob('test_*.py')
    }
    assert sorted(wanted - found) == [], 'modules without tests'
    assert sorted(found - wanted) == sorted(OF_NO_MODULE)
