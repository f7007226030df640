import { expect, test } from 'vitest'
import { Connection } from '../../sqlite/connection.ts'
import { searchText } from './search-text.ts'

test.each([
  ['abc', ['%abc%']],
  ['100%', ['%100\\%%']],
  ['a_b\\c', ['%a\\_b\\\\c%']],
  ['日本', ['%日本%']],
  ['Öl', ['%_l%', '*[Öö][lL]*']],
  ['ö*[?]', ['%_*[?]%', '*[öÖ][*][[][?]]*']],
])('the search term %s has the SQL parameters %j', (term, params) => {
  expect(searchText(term).params).toEqual(params)
})

test.each([
  ['ab', [], 'ab'],
  ['A1', [], 'a1'],
  ['ü', [], null],
  ['日本', [], '日本'],
  ['abc', ['abc'], null],
  ['😀bc', ['😀bc'], null],
  ['aaaa', ['aaa'], null],
  ['abcd', ['abc', 'bcd'], null],
])('the search term %s has the trigrams %j and the prefix %s', (term, trigrams, prefix) => {
  const terms = searchText(term)

  expect(terms.trigrams.map(({ text }) => text)).toEqual(trigrams)
  expect(terms.prefix).toBe(prefix)
})

test('a long search term has 16 trigrams, spread from its start to its end', () => {
  const term = Array.from({ length: 250 }, (_, index) => String.fromCharCode(0x4e00 + index)).join('')
  const { trigrams } = searchText(term)

  expect(trigrams).toHaveLength(16)
  expect(trigrams[0]?.at).toBe(0)
  expect(trigrams.at(-1)?.at).toBe(247)
})

test('each trigram has a word number, and a gap between two words has its own', () => {
  const words = searchText('ab cde=f').trigrams.map(({ text, word }) => [text, word])

  expect(words).toEqual([
    ['ab ', 0],
    ['b c', 1],
    [' cd', 2],
    ['cde', 2],
    ['de=', 2],
    ['e=f', 3],
  ])
})

test('the text index finds every line that the search condition accepts, for all foldable letters', () => {
  const connection = new Connection(':memory:')
  connection.exec(
    "CREATE VIRTUAL TABLE t USING fts5(m, tokenize = 'trigram case_sensitive 0', detail = none)",
  )
  connection.exec('CREATE TABLE lines (id INTEGER PRIMARY KEY, message TEXT)')
  const letters = Array.from({ length: 0x580 }, (_, code) => String.fromCodePoint(code + 0x21))
  connection.transaction(() => {
    for (const letter of letters) {
      const id = letter.codePointAt(0) ?? 0
      connection.run('INSERT INTO lines (id, message) VALUES (?, ?)', id, `ab${letter}`)
      connection.run('INSERT INTO t (rowid, m) VALUES (?, ?)', id, `ab${letter}`)
    }
  })
  const missed = letters.filter((letter) => {
    const { sql, params, trigrams } = searchText(`ab${letter}`)
    const match = `"${(trigrams[0]?.text ?? '').replaceAll('"', '""')}"`
    const lost = `SELECT id FROM lines WHERE ${sql} AND id NOT IN (SELECT rowid FROM t WHERE t MATCH ?)`
    return connection.rows(lost, ...params, match).length > 0
  })
  connection.close()

  expect(missed).toEqual([])
})
