import { expect, test } from 'vitest'
import { placeholdersOf } from './snippet-placeholders.ts'

test.each([
  ['Bearer <YOUR_TOKEN>', ['<YOUR_TOKEN>']],
  ['<USER>:<PASSWORD>@db', ['<USER>', '<PASSWORD>']],
  ['YOUR_API_KEY', ['YOUR_API_KEY']],
  ['Bearer YOUR_API_KEY', ['YOUR_API_KEY']],
  ['--token=your-token-here', ['your-token-here']],
  ['https://your-org.example.com/mcp', ['your-org.example.com']],
  ['https://api.example.com/YOUR_KEY/mcp', ['YOUR_KEY']],
  ['Your API key', ['Your API key']],
  ['sk-xxxx', ['sk-xxxx']],
  ['ghp_...', ['ghp_...']],
  ['/path/to/notes', ['/path/to/notes']],
  ['C:\\Users\\username\\notes', ['C:\\Users\\username\\notes']],
  ['{{token}} and $NAME and %NAME%', ['{{token}}', '$NAME', '%NAME%']],
  ['-y', []],
  ['@modelcontextprotocol/server-github', []],
])('the placeholders of %j are those parts that a user has to replace', (text, placeholders) => {
  expect(placeholdersOf(text)).toEqual(placeholders)
})
