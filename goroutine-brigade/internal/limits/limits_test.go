package limits

import (
	"errors"
	"slices"
	"testing"
)

func TestWhatFitsExactlyIsAdmittedAndOneMoreIsNot(t *testing.T) {
	limits := []limit{{name: "the limit", value: 100, inUse: 20}}
	if err := admit(8, 10, limits); err != nil {
		t.Error(err)
	}
	if err := admit(9, 10, limits); err == nil {
		t.Error("90 bytes fit into 80")
	}
}

func TestARefusalNamesTheTightestLimitAndTheCommand(t *testing.T) {
	err := admit(50, 10, []limit{
		{name: "a wide limit", value: 400},
		{name: "the limit", what: ofMemory, value: 100, inUse: 20, raise: "raise {}"},
	})
	want := "50 tasks need 500 bytes of memory, but the limit is 100 with 20 in use, " +
		"which 8 tasks fit into; raise it with: raise 520"
	if err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
}

func TestPagesOfFilesAreDroppable(t *testing.T) {
	for stat, want := range map[string]uint64{
		"inactive_file 5\nactive_file 7\nanon 100\n":                   12,
		"active_file 1\ntotal_inactive_file 20\ntotal_active_file 3\n": 23,
		"": 0,
	} {
		if got := droppable(stat); got != want {
			t.Errorf("%q: %d, not %d", stat, got, want)
		}
	}
}

func TestThisMachineHasALimit(t *testing.T) {
	var refusal *Refusal
	if err := Require(1<<32-1, 1<<31); !errors.As(err, &refusal) {
		t.Errorf("%v", err)
	}
}

const mounts = `33 31 0:28 /box /sys/fs/cgroup/memory rw shared:11 - cgroup cgroup rw,memory
32 31 0:27 / /sys/fs/cgroup/pids rw shared:10 - cgroup cgroup rw,pids
34 31 0:29 / /sys/fs/cgroup/unified rw shared:12 - cgroup2 cgroup2 rw
`

func TestEveryAncestorOfBothTreesIsFound(t *testing.T) {
	for cgroup, want := range map[string][]string{
		"8:pids:/a\n0::/u/v\n": {
			"/sys/fs/cgroup/unified/u/v", "/sys/fs/cgroup/unified/u", "/sys/fs/cgroup/unified",
		},
		"4:memory:/box/job\n":   {"/sys/fs/cgroup/memory/job", "/sys/fs/cgroup/memory"},
		"4:memory:/elsewhere\n": nil,
		"what\n::\n":            {"/sys/fs/cgroup/unified"},
	} {
		if folders := groupFolders(cgroup, mounts); !slices.Equal(folders, want) {
			t.Errorf("%q: %v", cgroup, folders)
		}
	}
}
