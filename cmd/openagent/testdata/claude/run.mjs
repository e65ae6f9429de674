// run.mjs lists the scenarios, or runs the one that is named.
import { scenarios } from './harness.mjs'
import './start.mjs'
import './hooks.mjs'
import './mirror.mjs'
import './servers.mjs'
import './control.mjs'
import './requests.mjs'

const name = process.argv[2]
if (!name) {
  console.log(JSON.stringify(Object.fromEntries(Object.entries(scenarios).map(([n, s]) => [n, s.about]))))
} else {
  await scenarios[name].run()
  process.exit(0)
}
