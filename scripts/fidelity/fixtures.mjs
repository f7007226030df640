// Servers of our own, each with something unusual, and the real servers that are development dependencies.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../lib.mjs'

const fixture = (name, kind, args, more = {}) => ({
  name,
  version: 'fixture',
  args: [join(root, `test/fixtures/servers/${kind}.mjs`), ...args],
  ...more,
})

/** Every number, key and string here must reach the server as it is. */
const RAW = String.raw`{"big":1234567890123456789,"inf":1e400,"zero":-0,"one":1.0,"dup":1,"dup":2,"b":1,"10":2,"2":3,"s":"\u00e9\/\ud800"}`
const LONG = `${RAW.slice(0, -1)},"pad":"${'x'.repeat(16 * 1024)}"}`
const named = (tool, more) => (names) => `{"name":${JSON.stringify(names(tool))},${more}}`

const EXACT = {
  calls: [
    ['raw_arguments', RAW],
    ['raw_arguments', LONG],
    ['raw_arguments', '{ "a" : 1 }'],
    ['params', {}, { 'com.example/trace': 'abc', progressToken: 'p' }],
    ['rich', {}],
    ['fail', {}],
    ['fields', {}],
    ['steps', {}, { progressToken: 0 }],
    ['roots', {}],
    ['sample', {}],
    ['elicit', {}],
  ],
  logging: [['logs', {}]],
  requests: [
    { method: 'vendor/hello', params: '{"n":1.0}' },
    { name: 'tools/call as a task', method: 'tools/call', params: named('fields', '"task":{"ttl":60000}') },
    {
      name: 'tools/call of a tool without arguments',
      method: 'tools/call',
      params: (names) => JSON.stringify({ name: names('raw_arguments') }),
    },
    {
      name: 'tools/call with unknown params',
      method: 'tools/call',
      params: named('params', '"arguments":{"one":1.0},"x_vendor":{"n":1.0}'),
    },
    {
      name: 'resources/read of a template',
      method: 'resources/read',
      params: '{"uri":"exact://pages/1?size=2"}',
    },
    {
      name: 'prompts/get with numbers',
      method: 'prompts/get',
      params: named('greet', '"arguments":{"who":1.0,"how":18446744073709551615}'),
    },
  ],
  checksIds: true,
}

export const FIXTURES = [
  fixture('exact', 'exact', [], EXACT),
  fixture('exact, both eras', 'exact', ['--era=both'], EXACT),
  fixture('pages', 'paged', ['--tools=25', '--page=10'], { calls: [['tool_25', {}]] }),
  fixture('pages with an empty cursor', 'paged', ['--tools=12', '--page=5', '--empty']),
  fixture('library', 'library', ['--instructions=Read before you ask.'], {
    calls: [
      ['link', {}],
      ['asked', {}],
    ],
    logging: [['log', {}]],
    isStateful: true,
  }),
  fixture('unlisted resources', 'library', ['--unlisted'], { calls: [['link', { uri: 'book://shared' }]] }),
  fixture('app', 'app', ['--announces'], {
    calls: [
      ['show', {}],
      ['refresh', {}],
    ],
  }),
  fixture('relay, legacy', 'relay', ['--era=legacy'], relayed()),
  fixture('relay, modern', 'relay', ['--era=modern'], relayed()),
  fixture('modern', 'modern', [], { calls: [['echo', { text: 'größe 🎈' }]] }),
  fixture('conformance', 'conformance', [], {
    calls: ['simple_text', 'image_content', 'audio_content', 'multiple_content_types', 'error_handling'].map(
      (name) => [`test_${name}`, {}],
    ),
  }),
]

function relayed() {
  return {
    calls: [
      ['echo', { text: 'größe 🎈' }],
      ['count', {}, { progressToken: 0 }],
      ['fail', {}],
      ['odd', {}],
    ],
    questions: [
      ['elicit', {}],
      ['sample', {}],
      ['roots', {}],
    ],
    logging: [['log', {}]],
    isStateful: true,
  }
}

const versionOf = (name) =>
  JSON.parse(readFileSync(join(root, 'node_modules', name, 'package.json'), 'utf8')).version

const installed = (name, file, more = {}) => ({
  name,
  version: versionOf(name),
  args: [join(root, 'node_modules', name, file), ...(more.arguments ?? [])],
  ...more,
})

/** Real servers that the tests compare, too: the first one in `npm test`, all of them in `npm run goals`. */
export const INSTALLED = () => [
  installed('@modelcontextprotocol/server-everything', 'dist/index.js', {
    calls: [
      ['echo', { message: 'Grüße \u{1f680}' }],
      ['get-sum', { a: 0.1, b: 0.2 }],
      ['get-structured-content', { location: 'Chicago' }],
      ['get-tiny-image', {}],
      ['get-annotated-message', { messageType: 'error', includeImage: true }],
      ['get-resource-links', { count: 3 }],
      ['get-resource-reference', { resourceType: 'Text', resourceId: 1 }],
      ['trigger-long-running-operation', { duration: 0.1, steps: 2 }, { progressToken: 'p' }],
      ['simulate-research-query', { topic: 'tasks' }],
      ['get-roots-list', {}],
      ['trigger-sampling-request', { prompt: 'hello', maxTokens: 10 }],
      ['trigger-elicitation-request', {}],
    ],
  }),
  installed('@modelcontextprotocol/server-filesystem', 'dist/index.js', {
    arguments: ['@files'],
    calls: [
      ['list_allowed_directories', {}],
      ['list_directory', { path: '@files' }],
      ['read_text_file', { path: '/no/such/file' }],
    ],
  }),
  installed('@modelcontextprotocol/server-memory', 'dist/index.js', {
    env: { MEMORY_FILE_PATH: '@files/memory.jsonl' },
    calls: [
      ['read_graph', {}],
      ['search_nodes', { query: 'nothing' }],
      ['open_nodes', { names: ['none'] }],
    ],
  }),
  installed('@upstash/context7-mcp', 'dist/index.js', {}),
]
