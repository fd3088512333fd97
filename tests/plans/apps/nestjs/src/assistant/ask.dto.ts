export class AskDto {
  question: string;
}
