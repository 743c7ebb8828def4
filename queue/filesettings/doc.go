// Package filesettings keeps the settings of waiting rooms in a file, where a loss of
// the store's data does not touch them.
//
//	settings, err := filesettings.Open("/var/lib/sale/settings.json")
//	…
//	room, err := queue.New(store, keys, queue.Config{Settings: settings})
//
// The file is JSON: an object with a [queue.Setting] for each event. It can be read
// with any tool, and copied while it is in use. The file keeps the last change of each
// event with its operator; the caller logs every change.
//
//	property                                                  proven by
//	a setting is there after a restart                        TestSettings
//	of two operators that change the same, one is refused     TestSettings, TestProcessesShareAFile
//	the file is whole at any moment, also without space       TestTheFileIsWhole
//	a damaged or a missing file fails, and says what to do    TestOpenRefuses, TestAFileThatIsGone
//
// Failure modes: a file that is gone after Open, or cannot be read, is an outage of
// the settings: rooms that are new stay closed until it is back, and operators' calls
// fail. A missing file never counts as "nothing was set".
//
// Processes of one machine may share a file; on systems without flock only one may.
// Processes of several machines need a database: implement [queue.Settings].
package filesettings
