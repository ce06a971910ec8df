package limits

import (
	"path"
	"slices"
	"strings"
)

// mount is a control group tree where it is mounted.
type mount struct {
	root    string
	place   string
	unified bool
}

// groupFolders lists the folders of the groups that bound this process's
// memory, from its own up to the root of each tree. cgroup is the text of
// /proc/self/cgroup, mountinfo that of /proc/self/mountinfo.
func groupFolders(cgroup, mountinfo string) []string {
	var folders []string
	mounts := memoryMounts(mountinfo)
	for line := range strings.Lines(cgroup) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) < 3 {
			continue
		}
		unified := fields[1] == ""
		if !unified && !slices.Contains(strings.Split(fields[1], ","), "memory") {
			continue
		}
		at := slices.IndexFunc(mounts, func(m mount) bool { return m.unified == unified })
		if at >= 0 {
			folders = append(folders, mounts[at].ancestors(fields[2])...)
		}
	}
	return folders
}

// ancestors lists the folders of a group and of all above it in the mount.
func (m *mount) ancestors(group string) []string {
	inside, found := strings.CutPrefix(group, strings.TrimSuffix(m.root, "/"))
	if !found {
		return nil
	}
	var folders []string
	for inside = path.Clean("/" + inside); inside != "/"; inside = path.Dir(inside) {
		folders = append(folders, m.place+inside)
	}
	return append(folders, m.place)
}

// memoryMounts finds version 2's tree and the version 1 tree of memory.
func memoryMounts(mountinfo string) []mount {
	var mounts []mount
	for line := range strings.Lines(mountinfo) {
		where, what, found := strings.Cut(strings.TrimSpace(line), " - ")
		place, source := strings.Fields(where), strings.Fields(what)
		if !found || len(place) < 5 || len(source) < 3 {
			continue
		}
		unified := source[0] == "cgroup2"
		memory := source[0] == "cgroup" && slices.Contains(strings.Split(source[2], ","), "memory")
		if unified || memory {
			mounts = append(mounts, mount{root: place[3], place: place[4], unified: unified})
		}
	}
	return mounts
}
