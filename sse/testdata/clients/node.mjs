// node.mjs MODULE follow|read URLS NAMES: the npm package `eventsource`, installed
// in the folder MODULE, reads streams. Prints what it is told as lines of JSON.
// Ends with its standard input.
import { createRequire } from "node:module";
import { follow, read } from "./watch.mjs";

const [module, what, urls, names] = process.argv.slice(2);
const { EventSource } = createRequire(import.meta.url)(module);
const print = (value) => process.stdout.write(JSON.stringify(value) + "\n");

process.stdin.on("end", () => process.exit(0)).resume();
if (what === "follow") {
	follow(EventSource, JSON.parse(urls)[0], JSON.parse(names), print);
} else {
	print(await read(EventSource, JSON.parse(urls), JSON.parse(names)));
}
