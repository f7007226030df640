import { refusal } from '../../text.ts'
import { type Cursor, take } from './cursor.ts'

const DATE = '\\d{4}-\\d{2}-\\d{2}'
const TIME = '\\d{2}:\\d{2}:\\d{2}(?:\\.\\d+)?'
const MOMENT = new RegExp(`${DATE}(?:[Tt ]${TIME}(?:[Zz]|[+-]\\d{2}:\\d{2})?)?|${TIME}`, 'y')
const MOMENT_PARTS =
  /^(?:(\d{4})-(\d{2})-(\d{2}))?[Tt ]?(?:(\d{2}):(\d{2}):(\d{2})(?:\.(\d+))?)?([Zz]|[+-](\d{2}):(\d{2}))?$/
const WORD = /[A-Za-z0-9_+.:-]+/y
/** Longer than any useful number, so that the patterns below never run on megabytes. */
const MAX_NUMBER_LENGTH = 1000

const INTEGER = /^[+-]?(?:0|[1-9](?:_?\d)*)$/
const WITH_BASE = /^0(?:x[0-9A-Fa-f](?:_?[0-9A-Fa-f])*|o[0-7](?:_?[0-7])*|b[01](?:_?[01])*)$/
const FLOAT = /^[+-]?(?:0|[1-9](?:_?\d)*)(?:\.\d(?:_?\d)*)?(?:[eE][+-]?\d(?:_?\d)*)?$/
const WORDS: Readonly<Record<string, boolean | number>> = {
  true: true,
  false: false,
  inf: Number.POSITIVE_INFINITY,
  '+inf': Number.POSITIVE_INFINITY,
  '-inf': Number.NEGATIVE_INFINITY,
  nan: Number.NaN,
  '+nan': Number.NaN,
  '-nan': Number.NaN,
}

/** Reads a number, a boolean or a date. Dates become strings in a normal form. */
export function scanScalar(cursor: Cursor): boolean | number | string {
  const { text, at: start } = cursor
  const moment = take(cursor, MOMENT)
  const word = take(cursor, WORD)
  if (moment !== '' && word === '') {
    const iso = isoOf(moment)
    if (iso === undefined) throw refusal(text, start, 'This date or time does not exist')
    return iso
  }
  const value = moment === '' && word.length <= MAX_NUMBER_LENGTH ? numberOrBoolean(word) : undefined
  if (value !== undefined) return value
  throw refusal(text, start, 'Expected a value. Strings need quotes')
}

function numberOrBoolean(word: string): boolean | number | undefined {
  if (Object.hasOwn(WORDS, word)) return WORDS[word]
  const digits = word.replaceAll('_', '')
  if (INTEGER.test(word)) return integerOf(digits.replace(/^[+-]/, ''), digits.startsWith('-'))
  if (WITH_BASE.test(word)) return integerOf(digits, false)
  return FLOAT.test(word) ? Number(digits) : undefined
}

const MAX_INTEGER = 2n ** 63n - 1n

/** TOML guarantees 64 bits. Parsers disagree about larger numbers. */
function integerOf(digits: string, isNegative: boolean): number | undefined {
  const size = BigInt(digits)
  if (size > MAX_INTEGER + (isNegative ? 1n : 0n)) return undefined
  return Number(isNegative ? -size : size)
}

/** With milliseconds and capital T and Z, as the second parser writes it; undefined for an invalid date. */
function isoOf(moment: string): string | undefined {
  const [, year, month, day, hour, minute, second, fraction, zone, zoneHour, zoneMinute] =
    MOMENT_PARTS.exec(moment) ?? []
  if (year !== undefined && !isDay(Number(year), Number(month), Number(day))) return undefined
  const date = year === undefined ? '' : `${year}-${month}-${day}`
  if (hour === undefined) return date
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return undefined
  if (Number(zoneHour ?? 0) > 23 || Number(zoneMinute ?? 0) > 59) return undefined
  const millis = (fraction ?? '').slice(0, 3).padEnd(3, '0')
  const time = `${hour}:${minute}:${second}.${millis}${zone?.toUpperCase() ?? ''}`
  return date === '' ? time : `${date}T${time}`
}

const DAYS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

function isDay(year: number, month: number, day: number): boolean {
  if (day < 1 || day > (DAYS[month - 1] ?? 0)) return false
  const isLeap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0
  return month !== 2 || day < 29 || isLeap
}
