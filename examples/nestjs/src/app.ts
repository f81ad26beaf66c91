import 'reflect-metadata'
import type { INestApplication } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { OutlayEngine } from '@outlay/nestjs'
import { appModule, type Environment } from './app-module.ts'

/** Creates the application and makes the tables of the engine. It starts with `app.listen`, and its workers with it. */
export async function createApp(environment: Environment): Promise<INestApplication> {
  const app = await NestFactory.create(appModule(environment), {
    rawBody: true,
    logger: ['error', 'warn'],
    abortOnError: false,
  })
  app.enableShutdownHooks()
  await app.get(OutlayEngine).migrate()
  return app
}
