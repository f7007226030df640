// node --require this: answers every message of its parent with how often each function ran since the previous message,
// including those of Node. An async function counts once more each time it resumes.
const { Session } = require('node:inspector')
const { pathToFileURL } = require('node:url')

const session = new Session()
session.connect()
session.post('Profiler.enable')
session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })

process.on('message', () => {
  session.post('Profiler.takePreciseCoverage', (_error, { result }) => process.send(countsOf(result)))
})
process.channel.unref()

const own = pathToFileURL(__filename).href

function countsOf(scripts) {
  const counts = []
  for (const { url, functions } of scripts) {
    if (url === own || url === __filename) continue
    for (const { functionName: name, ranges } of functions) {
      const [{ count, startOffset: at }] = ranges
      if (count > 0) counts.push({ url, name, at, count })
    }
  }
  return counts
}
