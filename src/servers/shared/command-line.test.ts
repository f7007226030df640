import { expect, test } from 'vitest'
import { commandLine, type Typed } from './diagnosis.ts'

const NOTES: Typed = {
  cwd: 'C:\\My notes',
  env: { API_TOKEN: '***' },
  words: ['C:\\Program Files\\nodejs\\node.exe', 'C:\\notes\\main.mjs', "it's", '--tag=a,b'],
}

test('on Windows a command line is one for PowerShell: variables first, and & before a program in quotes', () => {
  expect(commandLine(NOTES, 'win32')).toBe(
    "cd 'C:\\My notes'; $env:API_TOKEN = '***'; & 'C:\\Program Files\\nodejs\\node.exe' C:\\notes\\main.mjs 'it''s' '--tag=a,b'",
  )
  expect(commandLine({ cwd: null, words: ['npx', '-y', '@scope/name'] }, 'win32')).toBe(
    "cd ~; npx -y '@scope/name'",
  )
})

test('elsewhere it is one for sh, in which quotes keep every character', () => {
  expect(commandLine({ cwd: null, env: { A: '***' }, words: ['npx', '-y', '@scope/name'] }, 'linux')).toBe(
    'cd ~ && A=*** npx -y @scope/name',
  )
  expect(commandLine({ words: ['curl', "it's", '$HOME'] }, 'darwin')).toBe("curl 'it'\\''s' '$HOME'")
})
