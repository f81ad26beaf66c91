import 'reflect-metadata'
import { type INestApplicationContext, Module, type ModuleMetadata } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'

/** Bootstraps an application of these parts; failures reject. */
export async function openApplication(parts: ModuleMetadata): Promise<INestApplicationContext> {
  class AppModule {}
  Module(parts)(AppModule)
  return NestFactory.createApplicationContext(AppModule, { logger: false, abortOnError: false })
}
