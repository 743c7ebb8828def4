// Package wholefile replaces files as a whole, so that a file is complete at any moment, and
// locks them against other processes.
//
//	property                                                    proven by
//	a replaced file has all of the text, or all of the old      TestReplace
//	a write that fails leaves the old text, and nothing beside  TestReplace
//	a lock excludes other holders, and ends with its file       TestLock
package wholefile
