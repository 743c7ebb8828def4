package queuetest_test

import (
	"slices"

	"github.com/millrace-go/millrace/queue/driver"
)

// looking is a defect of views.
func looking(alter func(b *backend, c call, epoch, version uint64, v *driver.View)) hooks {
	return hooks{look: func(b *backend, c call, epoch, version uint64) (driver.View, error) {
		v, err := c.look(epoch, version)
		alter(b, c, epoch, version, &v)
		return v, err
	}}
}

func lookDefects() []defect {
	return []defect{
		{"forgets a change", []string{"look-is-exact", "look-in-pages", "random-walks"}, looking(func(_ *backend, _ call, _, _ uint64, v *driver.View) {
			if !v.Full && len(v.Blocks) > 1 || len(v.Blocks) == 1 && v.Version%7 == 0 {
				v.Blocks = v.Blocks[1:]
			}
		})},
		{"forgets blocks that are empty", []string{"look-is-exact", "look-in-pages", "look-after-a-long-time"}, looking(func(_ *backend, _ call, _, _ uint64, v *driver.View) {
			v.Blocks = slices.DeleteFunc(v.Blocks, func(b driver.Block) bool { return b.Bits == [driver.BlockSize / 64]uint64{} })
		})},
		{"tells a version that it has not told", []string{"look-is-exact", "random-walks"}, hooks{look: func(b *backend, c call, epoch, version uint64) (driver.View, error) {
			if version > 0 {
				version--
			}
			v, err := c.look(epoch, version+1)
			v.Version++
			return v, err
		}}},
		{"never says that all has to be forgotten", []string{"look-from-elsewhere", "look-in-pages", "clear-takes-everybody-out"},
			looking(func(_ *backend, _ call, _, _ uint64, v *driver.View) { v.Full = false })},
		{"always tells everything", []string{"look-is-exact"}, hooks{look: func(_ *backend, c call, epoch, version uint64) (driver.View, error) {
			v, err := c.look(0, 0)
			if v.More {
				v, err = c.look(epoch, version)
			}
			return v, err
		}}},
		{"answers a version of the future with nothing", []string{"look-from-elsewhere"}, looking(func(_ *backend, _ call, epoch, version uint64, v *driver.View) {
			if epoch == v.Epoch && version > v.Version {
				v.Full, v.Blocks, v.Version = false, nil, version
			}
		})},
		{"never says that there is more", []string{"look-in-pages"}, looking(func(_ *backend, _ call, _, _ uint64, v *driver.View) { v.More = false })},
		{"tells of any number of blocks at once", []string{"look-in-pages"}, hooks{look: func(_ *backend, c call, epoch, version uint64) (driver.View, error) {
			v, err := c.look(epoch, version)
			for v.More && err == nil {
				var next driver.View
				next, err = c.look(v.Epoch, v.Version)
				next.Full, next.Blocks = v.Full, append(v.Blocks, next.Blocks...)
				v = next
			}
			return v, err
		}}},
		{"pages back to the beginning", []string{"look-in-pages", "look-after-a-long-time"}, hooks{look: func(_ *backend, c call, epoch, version uint64) (driver.View, error) {
			v, err := c.look(epoch, version)
			if v.More {
				v, err = c.look(0, 0)
			}
			return v, err
		}}},
		{"tells blocks by their versions", []string{"look-is-exact"}, looking(func(_ *backend, _ call, _, _ uint64, v *driver.View) { slices.Reverse(v.Blocks) })},
		{"has another epoch each time, until somebody comes", []string{"look-at-nothing"}, looking(func(b *backend, _ call, _, _ uint64, v *driver.View) {
			if v.Joined == 0 {
				b.mu.Lock()
				b.notes["epoch"]++
				v.Epoch += uint64(b.notes["epoch"])
				v.Full = true
				b.mu.Unlock()
			}
		})},
		{"forgets everything now and then", []string{"look-after-a-long-time", "sweep-removes-the-silent"}, sweeping(func(b *backend, c call, from int64) (driver.Swept, error) {
			b.mu.Lock()
			b.notes[c.event]++
			n := b.notes[c.event]
			b.mu.Unlock()
			if n == 3 {
				if _, err := c.change(driver.Change{Clear: true}); err != nil {
					return driver.Swept{}, err
				}
			}
			return c.sweep(from)
		})},
	}
}
