import { expect } from 'vitest'
import { AUTHORISED, type House, openHouse } from './house.ts'

export const SERVER = { name: 'GitHub', command: 'npx', args: ['-y', 'server-github'] }
export const HTTP_SERVER = { name: 'Docs', url: 'https://docs.example/mcp' }

export const add = (house: House, payload: object, url = '/api/servers') =>
  house.inject({ method: 'POST', url, headers: AUTHORISED, payload })

/** A service with one server of each kind: `github` and `docs`. */
export async function furnished(options: Parameters<typeof openHouse>[0] = {}): Promise<House> {
  const house = await openHouse(options)
  expect((await add(house, SERVER)).statusCode).toBe(201)
  expect((await add(house, HTTP_SERVER, '/api/http-servers')).statusCode).toBe(201)
  return house
}
